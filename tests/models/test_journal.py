"""What came back is kept before anything else happens, and put into the log once."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from calling import call, draws, prompt, settings_for
from serving import Server

from swarm.errors import LogError
from swarm.log.journal import Journal, journal_of
from swarm.log.store import Log
from swarm.log.writer import Writer
from swarm.models.base import Draw, drawing
from swarm.models.gateway import Gateway
from swarm.study import Study
from swarm.tasks import all_of

DRAW = Draw("play", "w000_r0", round=1, seat=2)


def copy_of_journal(path: Path) -> dict[str, bytes]:
    """The journal's files as a kill would leave them now."""
    name = journal_of(path).name
    return {file.name: file.read_bytes() for file in path.parent.glob(f"{name}*")}


def put_back(files: dict[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def test_a_reply_is_there_for_the_next_run_before_the_log_has_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, settings = tmp_path / "log", settings_for(server.base)
    call(path, settings, ())  # a log without a call
    calm = path.read_bytes()
    monkeypatch.setattr("swarm.log.writer.GROUP_SECONDS", 0.5)
    server.control(script=["500"])
    kept: dict[str, bytes] = {}
    seen: list[int] = []

    async def look(gateway: Gateway) -> None:
        with drawing(DRAW):
            await gateway.models["stub"].reply(prompt(), seed=0)
        kept.update(copy_of_journal(path))
        seen.append(gateway._log.cursor().execute("SELECT count(*) FROM calls").fetchall()[0][0])

    first = call(path, settings, (), during=look)
    assert seen == [0]  # not in the log when the reply was handed on
    path.write_bytes(calm)
    put_back(kept, tmp_path)
    again = call(path, settings, [DRAW])
    assert server.books()["asked"] == 2  # the 500 and the answer
    assert again.calls == first.calls
    assert [f[:2] for f in again.faults] == [("server error", 500)]


def test_what_the_log_holds_already_is_not_put_in_twice(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, settings = tmp_path / "log", settings_for(server.base)
    monkeypatch.setattr("swarm.log.writer.GROUP_SECONDS", 0.5)
    server.control(script=["500"])
    kept: dict[str, bytes] = {}

    async def look(gateway: Gateway) -> None:
        with drawing(DRAW):
            await gateway.models["stub"].reply(prompt(), seed=0)
        kept.update(copy_of_journal(path))

    first = call(path, settings, (), during=look)
    put_back(kept, tmp_path)
    again = call(path, settings, ())
    assert again.calls == first.calls
    assert again.faults == first.faults
    assert again.spent == pytest.approx(first.spent)


def test_an_orderly_end_leaves_no_journal(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert len(call(path, settings_for(server.base), draws(5), together=True).calls) == 5
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log"]


def test_the_journal_is_kept_when_the_log_takes_no_more(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("swarm.log.writer.commit", full)
    found = call(path, settings_for(server.base), [DRAW])
    assert isinstance(found.error, OSError)
    assert found.calls == []
    monkeypatch.undo()
    again = call(path, settings_for(server.base), [DRAW])
    assert server.books()["asked"] == 1
    assert len(again.calls) == 1


def test_the_journal_drops_what_the_log_has(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "calls")
    for number in range(1, 101):
        assert journal.add({"allowances": [(1, float(number), False)]}) == number
    journal.committed(98)
    journal.add({"allowances": [(1, 101.0, False)]})
    assert [entry["allowances"][0][1] for entry in journal.entries()] == [99.0, 100.0, 101.0]
    journal.close(remove=False)
    assert len(Journal(tmp_path / "calls").entries()) == 3


def test_a_run_keeps_in_the_journal_only_what_the_log_lacks(server: Server, tmp_path: Path) -> None:
    held: list[int] = []

    async def many(gateway: Gateway) -> None:
        for draw in draws(80):
            with drawing(draw):
                await gateway.models["stub"].reply(prompt(), seed=draw.replicate)
        await asyncio.to_thread(gateway._writer.flush)
        with drawing(DRAW):
            await gateway.models["stub"].reply(prompt(), seed=0)
        held.append(len(gateway.ledger._journal.entries()))

    call(tmp_path / "log", settings_for(server.base), (), during=many)
    assert held == [1]


def test_any_text_comes_back_as_it_was(tmp_path: Path) -> None:
    journal, text = Journal(tmp_path / "calls"), "\ud800 \x00 \u2028 \U0001f600 'quoted' 0.1"
    journal.add({"calls": [(text, 0.1, None, True)]})
    assert journal.entries() == [{"calls": [[text, 0.1, None, True]]}]


def test_a_log_that_is_gone_is_not_replaced_beside_its_journal(tmp_path: Path) -> None:
    path, study = tmp_path / "log", Study(rooms=1)
    journal_of(path).write_bytes(b"")
    with pytest.raises(LogError, match=r"log\.calls holds the last calls of a log .* gone; put"):
        Log.open_or_create(path, study)
    assert [file.name for file in tmp_path.iterdir()] == ["log.calls"]


def test_a_damaged_journal_is_named_and_left(server: Server, tmp_path: Path) -> None:
    path, settings = tmp_path / "log", settings_for(server.base)
    call(path, settings, ())
    journal_of(path).write_bytes(b"no database" * 999)
    found = call(path, settings, [DRAW])
    assert isinstance(found.error, LogError)
    assert "log.calls, calls of an earlier run, cannot be used" in str(found.error)
    assert journal_of(path).read_bytes() == b"no database" * 999
    assert server.books()["asked"] == 0


def test_a_journal_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "calls")
    journal._con.execute("PRAGMA query_only = ON")
    with pytest.raises(LogError, match=r"cannot write .*calls"):
        journal.add({"calls": []})


def test_flush_waits_for_the_commit(tmp_path: Path) -> None:
    with Log.open_or_create(tmp_path / "log", Study(rooms=1)) as log, Writer(log) as writer:
        writer.put_rows({"allowances": [(1, 2.0, False)]})
        writer.flush()
        assert log.value("SELECT count(*) FROM allowances") == 1


def test_no_task_outlives_the_fault_of_another() -> None:
    ended: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0.01)
            ended.append("slow")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise sqlite3.Error("first")

    async def both() -> None:
        with pytest.raises(sqlite3.Error, match="first"):
            await all_of([slow(), fails()])
        assert ended == ["slow"]

    asyncio.run(both())


def test_results_come_in_order() -> None:
    async def after(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def three() -> list[float]:
        return await all_of(after(seconds) for seconds in (0.02, 0.0, 0.01))

    assert asyncio.run(three()) == [0.02, 0.0, 0.01]
