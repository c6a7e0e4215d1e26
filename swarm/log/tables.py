"""Rows on their way into the log.

Whoever produces rows (a room in a worker process, a stage) makes Arrow tables of them in the
schema of `schema.sql`; the one process that writes only hands those to DuckDB.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import duckdb
import pyarrow as pa

from swarm.scenario import Rows

Batch: TypeAlias = "dict[str, pa.Table]"
"""Arrow tables by table name."""


def schema_sql() -> str:
    """The log's schema, with a comment on every table and column."""
    return files("swarm.log").joinpath("schema.sql").read_text(encoding="utf-8")


@cache
def layout() -> str:
    """Hash of the schema, comments aside; a log with another one is refused, never migrated."""
    bare = re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", schema_sql()))
    return hashlib.blake2b(bare.encode(), digest_size=4).hexdigest()


@cache
def schemas() -> dict[str, pa.Schema]:
    """Arrow schema of every table of the log."""
    with duckdb.connect(":memory:") as con:
        con.execute(schema_sql())
        names = con.execute(
            "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
        ).fetchall()
        return {
            name: con.sql(f'SELECT * FROM "{name}" LIMIT 0').to_arrow_table().schema
            for (name,) in names
        }


def batch_of(rows: Rows) -> Batch:
    """Arrow tables of `rows`."""
    made: Batch = {}
    for table, given in rows.items():
        schema = schemas()[table]
        columns = zip(*given, strict=True)
        made[table] = pa.Table.from_arrays(
            [pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)],
            schema=schema,
        )
    return made
