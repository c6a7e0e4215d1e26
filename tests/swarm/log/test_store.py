"""A log is one study's file: whole, refused when it is anything else, and never overwritten."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from swarm.errors import LogError
from swarm.log.store import Log, commit
from swarm.log.tables import batch_of, schema_sql, schemas
from swarm.log.writer import GROUP_ROWS, Writer
from swarm.study import Study

STUDY = Study(rooms=3, seed=2)


def refused(path: Path, study: Study = STUDY) -> str:
    """The line with which both ways of opening `path` refuse it; it is left as it is."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(LogError) as opening:
        Log.open(path)
    with pytest.raises(LogError) as making:
        Log.open_or_create(path, study)
    if before is not None:
        assert path.read_bytes() == before
    line = str(making.value)
    assert str(opening.value) == line
    assert len(line.splitlines()) == 1
    assert str(path) in line
    return line


def test_a_new_log_holds_the_study_and_all_its_rooms(tmp_path: Path) -> None:
    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        assert log.study == STUDY
        assert log.value("SELECT count(*) FROM rooms") == 3
        assert log.value("SELECT count(*) FROM seats") == 24
        assert log.value("SELECT count(*) FROM outages") == 4
        assert log.value("SELECT count(*) FROM changes") == 15
        for table in ("turns", "blocks", "outcomes", "directives", "replays", "leaders"):
            assert log.value(f"SELECT count(*) FROM {table}") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.duckdb"]


def test_what_a_new_log_says_of_rooms_is_what_the_study_says(tmp_path: Path) -> None:
    study = Study(rooms=9, seed=2, name_order="williams")
    with Log.open_or_create(tmp_path / "a.duckdb", study) as log:
        for spec in study.specs():
            seed, world_seed, listed = log.rows(
                "SELECT seed, world_seed, listed FROM rooms WHERE room = ?", [spec.room]
            )[0]
            assert (seed, world_seed, tuple(listed)) == (spec.seed, spec.world_seed, spec.listed)
            seats = log.rows(
                "SELECT name, model, position FROM seats WHERE room = ? ORDER BY seat", [spec.room]
            )
            places = [spec.listed.index(name) for name in spec.names]
            assert seats == list(zip(spec.names, spec.models, places, strict=True))


def test_an_existing_log_of_the_same_study_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with Log.open_or_create(path, STUDY) as log:
        log.con.execute("INSERT INTO tagged VALUES ('rules', '1', '', 'w000_r0', 5, NULL, 0)")
    with Log.open_or_create(path, STUDY) as log:
        assert log.value("SELECT count(*) FROM tagged") == 1
        assert log.value("SELECT count(*) FROM rooms") == 3
    with Log.open(path, read_only=True) as log:
        assert log.study.as_json() == STUDY.as_json()


def test_a_study_with_other_settings_is_refused_and_told_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    Log.open_or_create(path, STUDY).close()
    before = path.read_bytes()
    other = Study(rooms=4, seed=2, room={"rounds": 5})
    with pytest.raises(LogError) as fault:
        Log.open_or_create(path, other)
    for part in (str(path), "rooms is 3 there, 4 here", "room.rounds is 8 there, 5 here", "--out"):
        assert part in str(fault.value)
    assert path.read_bytes() == before
    opens = "import duckdb, sys; duckdb.connect(sys.argv[1])"
    assert subprocess.run([sys.executable, "-c", opens, str(path)]).returncode == 0  # no lock stays


def test_a_missing_log_is_not_made_by_opening(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no log"):
        Log.open(tmp_path / "a.duckdb")
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sales.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE sales AS SELECT range AS n FROM range(1000)")
    assert "not a log of swarm's" in refused(path)


def test_a_database_with_a_table_of_the_same_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "school.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE studies (student VARCHAR)")
    assert "not a log of swarm's" in refused(path)


def test_a_log_of_another_version_says_which(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with Log.open_or_create(path, STUDY) as log:
        log.con.execute("UPDATE studies SET layout = 'other', engine = '9.9'")
    assert "written by swarm 9.9 (log layout other)" in refused(path)


def test_a_log_begun_by_another_version_is_read_but_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with Log.open_or_create(path, STUDY) as log:
        log.con.execute("UPDATE studies SET engine = '9.9'")
    with pytest.raises(LogError, match=r"begun by swarm 9\.9"):
        Log.open_or_create(path, STUDY)
    Log.open(path).close()


def test_a_log_without_its_study_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.duckdb"
    with Log.open_or_create(path, STUDY) as log:
        log.con.execute("DELETE FROM studies")
    assert "holds 0 studies" in refused(path)


@pytest.mark.parametrize("name", ["a.duckdb", "deadlock.duckdb"])
@pytest.mark.parametrize("content", [b"", b"hello\n" * 999, b"\0" * 9999], ids=["0", "text", "nul"])
def test_a_file_that_is_no_database_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert "not a DuckDB file" in refused(path)


@pytest.mark.parametrize("broken", [slice(0, 4096), slice(4096, 8192)], ids=["header", "first"])
def test_a_damaged_log_is_refused(broken: slice, tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    Log.open_or_create(path, STUDY).close()
    content = bytearray(path.read_bytes())
    content[broken] = bytes(b ^ 0x5A for b in content[broken])
    path.write_bytes(content)
    assert "damaged" in refused(path)


def test_a_log_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    Log.open_or_create(path, STUDY).close()
    path.write_bytes(path.read_bytes()[:5000])
    assert "damaged" in refused(path)


def test_a_sqlite_file_is_refused_without_fetching_anything(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE studies (a)")
    con.close()
    assert "not a DuckDB file" in refused(path)
    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        assert not log.value("SELECT current_setting('autoinstall_known_extensions')")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in refused(tmp_path)


def test_a_log_in_use_by_another_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    Log.open_or_create(path, STUDY).close()
    holds = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", holds, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        assert "in use by another process" in refused(path)
    finally:
        other.communicate("\n")
    Log.open(path).close()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write")
def test_a_folder_that_cannot_be_written_is_named() -> None:
    with pytest.raises(LogError, match="cannot write /proc/") as fault:
        Log.open_or_create(Path("/proc/a.duckdb"), STUDY)
    assert len(str(fault.value).splitlines()) == 1


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=f"no folder {tmp_path / 'no'}"):
        Log.open_or_create(tmp_path / "no" / "a.duckdb", STUDY)
    assert not (tmp_path / "no").exists()


def test_a_draft_that_cannot_be_made_is_a_fault_with_a_name(tmp_path: Path) -> None:
    (tmp_path / ".a.duckdb.new").mkdir()
    with pytest.raises(LogError, match="cannot write"):
        Log.open_or_create(tmp_path / "a.duckdb", STUDY)


def test_what_a_killed_creation_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".a.duckdb.new").write_bytes(b"half a log")
    (tmp_path / ".a.duckdb.new.wal").write_bytes(b"half a journal")
    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        assert log.value("SELECT count(*) FROM rooms") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a.duckdb"]


def test_a_creation_that_fails_leaves_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("in the middle")

    monkeypatch.setattr("swarm.log.store._insert_rooms", fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        Log.open_or_create(tmp_path / "a.duckdb", STUDY)
    assert list(tmp_path.iterdir()) == []


def definitions() -> list[tuple[str, str, list[str]]]:
    """(kind, name, body lines) of everything that schema.sql makes."""
    found = re.findall(r"^CREATE (TABLE|VIEW) (\w+) (.*?);$", schema_sql(), re.DOTALL | re.M)
    return [(kind, name, body.splitlines()) for kind, name, body in found]


def test_every_table_and_view_has_a_comment() -> None:
    made = definitions()
    assert len([kind for kind, _, _ in made if kind == "TABLE"]) == len(schemas())
    silent = [name for _, name, lines in made if "-- " not in lines[0]]
    assert silent == []


def test_every_column_has_a_comment() -> None:
    silent = [
        f"{name}.{line.split()[0]}"
        for kind, name, lines in definitions()
        for line in lines[1:]
        if kind == "TABLE" and re.match(r" +\w+ [A-Z]", line) and not re.search(r"-- \w", line)
    ]
    assert silent == []


def test_a_block_is_stored_once_whoever_sends_it(tmp_path: Path) -> None:
    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        rows = {"blocks": [(2**64 - 1, "post", "x"), (5, "post", "y"), (5, "post", "y")]}
        with Writer(log) as writer:
            writer.put(batch_of(rows))
            writer.put(batch_of(rows))
        with Writer(log) as writer:
            writer.put(batch_of(rows))
        assert log.rows("SELECT * FROM blocks ORDER BY block") == [
            (5, "post", "y"),
            (2**64 - 1, "post", "x"),
        ]


def test_any_text_comes_back_as_it_was_written(tmp_path: Path) -> None:
    texts = ["", "NUL \0 inside", "'; DROP TABLE turns; --", "\u202e\u2028 日本 👍🏽", "x" * 10**6]
    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        with Writer(log) as writer:
            writer.put(batch_of({"blocks": [(i, "post", text) for i, text in enumerate(texts)]}))
        assert [text for (text,) in log.rows("SELECT text FROM blocks ORDER BY block")] == texts


def tagged(number: int, posts: int = 0) -> tuple[Any, ...]:
    return ("rules", "1", "", f"room {number}", posts, None, 0)


def test_leaving_the_writer_commits_what_waits(tmp_path: Path) -> None:
    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        with Writer(log) as writer:
            for start in range(0, 2 * GROUP_ROWS, 100):
                rows = [tagged(number) for number in range(start, start + 100)]
                writer.put(batch_of({"tagged": rows}))
            writer.put({})
        assert log.value("SELECT count(DISTINCT room) FROM tagged") == 2 * GROUP_ROWS
        assert "log writer" not in [thread.name for thread in threading.enumerate()]


def test_what_was_put_is_kept_when_the_stage_fails(tmp_path: Path) -> None:
    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        with pytest.raises(ZeroDivisionError), Writer(log) as writer:
            writer.put(batch_of({"tagged": [tagged(1)]}))
            raise ZeroDivisionError
        assert log.value("SELECT count(*) FROM tagged") == 1


def test_an_error_of_the_writer_reaches_the_producer(tmp_path: Path) -> None:
    def produce(writer: Writer) -> None:
        for number in range(1, 10_000):
            writer.put(batch_of({"tagged": [tagged(number)]}))

    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        log.con.execute("DROP TABLE tagged")
        with pytest.raises(duckdb.CatalogException, match="tagged"), Writer(log) as writer:
            writer.put(batch_of({"tagged": [tagged(0)]}))
        with pytest.raises(duckdb.CatalogException, match="tagged"), Writer(log) as writer:
            produce(writer)


def test_a_batch_is_committed_whole_or_not_at_all(tmp_path: Path) -> None:
    with Log.open_or_create(tmp_path / "a.duckdb", STUDY) as log:
        log.con.execute("INSERT INTO tagged VALUES ('rules', '1', '', 'w000_r0', 5, NULL, 0)")
        log.con.execute("DROP TABLE leaders")
        batch = batch_of(
            {"tagged": [tagged(1)], "leaders": [("a", "b", "c", "d", 1, 2.0, 2, True)]}
        )
        with pytest.raises(duckdb.Error):
            commit(log.con, batch, first=("DELETE FROM tagged",))
        assert log.rows("SELECT room FROM tagged") == [("w000_r0",)]


def test_the_small_log_is_whole(small_log_path: Callable[..., Path]) -> None:
    with Log.open(small_log_path()) as log:
        assert log.value("SELECT count(*) FROM outcomes") == log.study.rooms
        shown = log.rows(
            "SELECT count(*) FROM (SELECT unnest(list_concat(system, turn)) AS block FROM prompts) "
            "ANTI JOIN blocks USING (block)"
        )
        assert shown == [(0,)]
