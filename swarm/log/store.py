"""Opening a log: made new in one step, or refused in one line.

What is written after that goes through `swarm.log.writer`. Blocks are stored once, whoever sends
them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import duckdb

import swarm
from swarm.errors import LogError
from swarm.log.journal import journal_of
from swarm.log.tables import Batch, batch_of, layout, schema_sql
from swarm.study import Study, make_study


def _connect(
    path: Path, *, read_only: bool, called: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file; `called` is the name for it that the user knows."""
    settings: dict[str, Any] = {
        "memory_limit": "256MB",
        "threads": 2,
        "wal_autocheckpoint": "16MB",
        "autoinstall_known_extensions": False,  # it would be fetched to read a foreign file
    }
    try:
        return duckdb.connect(str(path), read_only=read_only, config=settings)
    except duckdb.Error as error:
        text = str(error)
        if "could not set lock" in text.lower():
            raise LogError(
                f"{path} is in use by another process; wait for its end, or give another file"
            ) from error
        if path.is_file():
            raise LogError(
                f"{path} is not a DuckDB file, or it is damaged; give another file, it was left as "
                "it is"
            ) from error
        reason = text.splitlines()[0].rpartition(": ")[2]
        raise LogError(f"cannot write {called or path}: {reason}") from error


class Log:
    """An open log.

    Attributes
    ----------
    path : Path
    con : duckdb.DuckDBPyConnection
        For reading. Use `cursor` from another thread.
    study : Study
        The study that the log belongs to.
    """

    def __init__(self, path: Path, con: duckdb.DuckDBPyConnection, study: Study) -> None:
        self.path = path
        self.con = con
        self.study = study

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Self:
        """Open an existing log.

        Raises
        ------
        LogError
            When there is no such file, it is no log of swarm's, another version wrote it, or
            another process is writing it.
        """
        if path.is_dir():
            raise LogError(f"{path} is a folder; give a file")
        if not path.exists():
            raise LogError(f"there is no log {path}; `python -m swarm run --out {path}` makes one")
        con = _connect(path, read_only=read_only)
        try:
            return cls(path, con, _study_of(con, path))
        except BaseException:
            con.close()
            raise

    @classmethod
    def open_or_create(cls, path: Path, study: Study) -> Self:
        """Open the log of `study`, made new when there is none.

        Raises
        ------
        LogError
            As `open`, and when the file holds another study or cannot be written.
        """
        if not path.exists():
            if not path.parent.is_dir():
                raise LogError(f"cannot write {path}: no folder {path.parent}; make it first")
            return cls._create(path, study)
        log = cls.open(path)
        engine = log.value("SELECT engine FROM studies")
        if engine != swarm.__version__:
            log.close()
            raise LogError(
                f"{path} was begun by swarm {engine}, and this is {swarm.__version__}, which may "
                "play otherwise; go on with that version, or start a new log"
            )
        differing = _differences(log.study, study)
        if differing:
            log.close()
            raise LogError(
                f"{path} holds a study with other settings ({differing}); repeat them to resume "
                "it, or give another --out"
            )
        if log.study.as_json() != study.as_json():  # another address, limit or price
            log.con.execute("UPDATE studies SET settings = ?", [study.as_json()])
            log.study = study
        return log

    @classmethod
    def _create(cls, path: Path, study: Study) -> Self:
        # Made under another name and renamed when whole: a kill leaves no half-made log behind.
        draft = path.with_name(f".{path.name}.new")
        if journal_of(path).exists():
            raise LogError(
                f"{journal_of(path)} holds the last calls of a log {path} that is gone; put that "
                "log back, or move this file away, or give another --out"
            )
        try:
            draft.unlink(missing_ok=True)
            with _connect(draft, read_only=False, called=path) as con:
                con.execute("BEGIN")
                con.execute(schema_sql())
                surrogates = [m for m in study.all_models if m not in study.live_models]
                con.execute(
                    "INSERT INTO studies VALUES (?, ?, ?, ?, ?, ?)",
                    [
                        f"{study.scenario} {study.seed}",
                        study.scenario,
                        study.as_json(),
                        swarm.__version__,
                        layout(),
                        surrogates,
                    ],
                )
                _insert_rooms(con, study)
                con.execute("COMMIT")
            if path.exists():  # made by somebody else meanwhile
                raise LogError(f"{path} has just been made by another run; repeat the command")
            draft.rename(path)
        except OSError as error:
            raise LogError(f"cannot write {path}: {error.strerror}") from error
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return cls(path, _connect(path, read_only=False), study)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A second connection to the same open file, for another thread."""
        return self.con.cursor()

    def rows(self, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.con.execute(sql, parameters or []).fetchall()

    def value(self, sql: str, parameters: list[Any] | None = None) -> Any:
        """The single value that a query gives."""
        return self.rows(sql, parameters)[0][0]

    def add_missing(self, batch: Batch) -> None:
        """Insert those rows of `batch` that the log does not hold yet."""
        self.con.execute("BEGIN")
        for table, rows in batch.items():
            self.con.register("incoming", rows)
            self.con.execute(
                f'INSERT INTO "{table}" SELECT * FROM incoming EXCEPT SELECT * FROM "{table}"'
            )
            self.con.unregister("incoming")
        self.con.execute("COMMIT")

    def close(self) -> None:
        """Write everything into the file itself and let go of it."""
        self.con.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _insert_rooms(con: duckdb.DuckDBPyConnection, study: Study) -> None:
    game, settings = study.game, study.room_settings
    rows: dict[str, list[tuple[Any, ...]]] = {"rooms": [], "seats": []}
    world = None
    for spec in study.specs():
        rows["rooms"].append(
            (spec.room, spec.world, spec.rotation, spec.seed, spec.world_seed, list(spec.listed))
        )
        rows["seats"] += [
            (spec.room, seat, name, model, spec.listed.index(name))
            for seat, (name, model) in enumerate(zip(spec.names, spec.models, strict=True))
        ]
        if spec.world != world:
            world = spec.world
            for table, more in game.world_rows(settings, world, spec.world_seed).items():
                rows.setdefault(table, []).extend(more)
        if len(rows["seats"]) > 50_000:
            _insert(con, batch_of(rows))
            rows = {"rooms": [], "seats": []}
    _insert(con, batch_of({table: given for table, given in rows.items() if given}))


def _study_of(con: duckdb.DuckDBPyConnection, path: Path) -> Study:
    try:
        found = con.execute("SELECT settings, engine, layout FROM studies").fetchall()
    except duckdb.Error as error:
        raise LogError(
            f"{path} is a DuckDB file, but not a log of swarm's; give another file, it was left as "
            "it is"
        ) from error
    if len(found) != 1:
        raise LogError(f"{path} holds {len(found)} studies; a log holds one")
    settings, engine, held = found[0]
    if held != layout():
        raise LogError(
            f"{path} was written by swarm {engine} (log layout {held}); this is "
            f"{swarm.__version__} (layout {layout()}): use that version, or start a new log"
        )
    return make_study(json.loads(settings), source=f"study in {path}")


def _differences(old: Study, new: Study) -> str:
    was, now = old.identity(), new.identity()
    changed = [
        f"{key} is {was.get(key)!r} there, {now.get(key)!r} here"
        for key in was | now
        if was.get(key) != now.get(key)
    ]
    return "; ".join(changed[:3]) + ("; ..." if len(changed) > 3 else "")


def _insert(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    for table, rows in batch.items():
        con.register("incoming", rows)
        if table == "blocks":
            con.execute(
                "INSERT INTO blocks SELECT DISTINCT ON (block) block, kind, text FROM incoming i "
                "WHERE NOT EXISTS (SELECT 1 FROM blocks b WHERE b.block = i.block)"
            )
        else:
            con.execute(f'INSERT INTO "{table}" SELECT * FROM incoming')
        con.unregister("incoming")


def commit(con: duckdb.DuckDBPyConnection, batch: Batch, *, first: tuple[str, ...] = ()) -> None:
    """Run the statements `first` and insert `batch` in one transaction."""
    con.execute("BEGIN")
    try:
        for statement in first:
            con.execute(statement)
        _insert(con, batch)
        con.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise
