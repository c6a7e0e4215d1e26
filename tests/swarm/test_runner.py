"""The same study and seed give the same log, however the work was cut up or broken off."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import pytest

from swarm.design import RoomSpec
from swarm.errors import ModelError
from swarm.log.store import Log
from swarm.log.tables import batch_of
from swarm.models import models_for
from swarm.models.base import Model, Reply
from swarm.pool import Workers
from swarm.prompt import Prompt
from swarm.runner import play_study, replayed_rows
from swarm.scenario import Rows, Scenario
from swarm.streams import seed_of
from swarm.study import Study

Digests = Callable[[Log], dict[str, str]]
CLUMSY = Study(rooms=10, seed=21, retries=2)


class Clumsy:
    """A surrogate that now and then writes nonsense, with a limited number of replies.

    With `surrogate` False the runner takes it for a live model: asked on the event loop, logged
    turn by turn.
    """

    def __init__(
        self, model: Model, surrogate: bool, asked: list[tuple[str, int]], credit: list[int]
    ) -> None:
        self.name, self.surrogate, self._model = model.name, surrogate, model
        self._asked, self._credit = asked, credit

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        if self._credit[0] == 0:
            raise ModelError("no credit")
        self._credit[0] -= 1
        self._asked.append((self.name, seed))
        if not self.surrogate:
            await asyncio.sleep(0.0005 * (seed % 4))
        if seed % 5 == 0:
            return Reply(f"What is {seed}?", latency=seed % 7, tokens_in=5, tokens_out=3, cost=0.25)
        if seed % 7 == 0:
            text = (
                '{"query": "nowhere", "file": "D-1", "note": 3, "post": "'
                + "é" * 300
                + '", "z": 1,}'
            )
            return Reply(text, reasoning="why not", latency=0.5, served_by="x", fingerprint="y")
        return await self._model.reply(prompt, seed)


class NoGateway:
    """Stands where the gateway to providers does; nothing is sent and nothing is spent."""

    models: ClassVar[dict[str, Model]] = {}
    budget = SimpleNamespace(spent=0.0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def money(self, *, done: int, left: int) -> str:
        return "$0"


@pytest.fixture
def clumsy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, int]]]:
    """``clumsy(live, credit)`` replaces all models and returns the list of what they are asked."""

    def arrange(*, live: bool, credit: int = 10**9) -> list[tuple[str, int]]:
        asked: list[tuple[str, int]] = []
        left = [credit]

        def wrapped(scenario: Scenario, names: Iterable[str], **_: Any) -> dict[str, Any]:
            made = models_for(scenario, names)
            return {name: Clumsy(model, not live, asked, left) for name, model in made.items()}

        monkeypatch.setattr("swarm.runner.models_for", wrapped)
        monkeypatch.setattr("swarm.runner.gateway_of", lambda *_: NoGateway())
        monkeypatch.setattr(
            Study, "live_models", property(lambda _: {"clumsy": None} if live else {})
        )
        return asked

    return arrange


def play(path: Path, study: Study, jobs: int = 1) -> Log:
    log = Log.open_or_create(path, study)
    with Workers(jobs) as workers:
        play_study(log, workers)
    return log


def rows_of(log: Log, table: str, room: str) -> Counter[str]:
    """The room's rows of a table, as the log holds them."""
    return Counter(
        row for (row,) in log.rows(f"SELECT t::VARCHAR FROM {table} t WHERE room = ?", [room])
    )


def derived(log: Log, rows: Rows, table: str) -> Counter[str]:
    """Rows that were derived again, written as `rows_of` writes them."""
    if table not in rows:
        return Counter()
    again = batch_of({table: rows[table]})[table]
    log.con.register("derived", again)
    try:
        return Counter(row for (row,) in log.rows("SELECT d::VARCHAR FROM derived d"))
    finally:
        log.con.unregister("derived")


def test_the_whole_pipeline_gives_the_same_tables_in_one_process_and_in_two(
    small_log: Log, tmp_path: Path, finish: Callable[..., None], digests: Digests
) -> None:
    with Log.open_or_create(tmp_path / "two.duckdb", small_log.study) as log:
        finish(log, jobs=2)
        assert digests(log) == digests(small_log)


def test_another_seed_gives_other_tables(small_log: Log, tmp_path: Path, digests: Digests) -> None:
    study = small_log.study.model_copy(update={"seed": 6})
    with play(tmp_path / "a.duckdb", study) as log:
        mine, other = digests(log), digests(small_log)
    for table in ("rooms", "outages", "changes", "turns", "prompts", "cards", "outcomes"):
        assert mine[table] != other[table]


def test_the_digest_sees_a_single_changed_value(
    small_log: Log, small_log_path: Callable[..., Path], digests: Digests
) -> None:
    with Log.open(small_log_path()) as log:
        assert digests(log) == digests(small_log)
        log.con.execute("UPDATE turns SET latency = latency + 1e-9 WHERE round = 2 AND seat = 3")
        changed = digests(log)
    assert [t for t, digest in digests(small_log).items() if digest != changed[t]] == ["turns"]


def test_every_turn_played_again_from_the_log_has_the_same_prompt_block_for_block(
    small_log: Log,
) -> None:
    compared = 0
    for spec in small_log.study.specs():
        rows = replayed_rows(small_log, spec)
        logged = {
            (round, seat): (system, turn)
            for round, seat, system, turn in small_log.rows(
                "SELECT round, seat, system, turn FROM prompts WHERE room = ?", [spec.room]
            )
        }
        again = {(round, seat): (system, turn) for _, round, seat, system, turn in rows["prompts"]}
        assert again == logged
        compared += len(again)
        blocks = {block: (kind, text) for block, kind, text in rows["blocks"]}
        kept = small_log.rows(
            "SELECT block, kind, text FROM blocks WHERE block IN (SELECT unnest(?::UBIGINT[]))",
            [list(blocks)],
        )
        assert {block: (kind, text) for block, kind, text in kept} == blocks
    assert compared == small_log.value("SELECT count(*) FROM turns") > 1000


def test_everything_the_log_holds_of_a_room_follows_from_its_replies(
    tmp_path: Path, clumsy: Callable[..., list[tuple[str, int]]]
) -> None:
    clumsy(live=False)
    tables = ("turns", "discarded", "refusals", "prompts", "cards", "filings", "outcomes")
    held: Counter[str] = Counter()
    with play(tmp_path / "a.duckdb", CLUMSY) as log:
        for spec in log.study.specs():
            rows = replayed_rows(log, spec)
            assert set(rows) <= {*tables, "blocks"}  # what surrogates meant is not in a reply
            for table in tables:
                logged = rows_of(log, table, spec.room)
                assert derived(log, rows, table) == logged
                held[table] += logged.total()
        for table in tables:
            assert held[table] == log.value(f"SELECT count(*) FROM {table}") > 0


def test_a_log_that_lacks_a_reply_cannot_be_played_again(
    small_log_path: Callable[..., Path],
) -> None:
    with Log.open(small_log_path()) as log:
        spec = next(log.study.specs())
        log.con.execute("DELETE FROM turns WHERE room = ? AND round = 2", [spec.room])
        with pytest.raises(LookupError, match="no reply"):
            replayed_rows(log, spec)


def test_live_models_give_the_tables_of_surrogates(
    tmp_path: Path, clumsy: Callable[..., list[tuple[str, int]]], digests: Digests
) -> None:
    clumsy(live=False)
    with play(tmp_path / "surrogates.duckdb", CLUMSY) as log:
        whole = digests(log)
    asked = clumsy(live=True)
    with play(tmp_path / "live.duckdb", CLUMSY) as log:
        assert digests(log) == whole
        assert len(asked) == log.value("SELECT sum(attempts) FROM turns")


@pytest.mark.parametrize("credit", [1, 60, 250])
def test_a_live_room_goes_on_from_its_recorded_turns_and_pays_for_none_twice(
    credit: int,
    tmp_path: Path,
    clumsy: Callable[..., list[tuple[str, int]]],
    digests: Digests,
) -> None:
    clumsy(live=False)
    with play(tmp_path / "whole.duckdb", CLUMSY) as log:
        whole, tries = digests(log), log.value("SELECT sum(attempts) FROM turns")
    path = tmp_path / "live.duckdb"
    clumsy(live=True, credit=credit)
    with pytest.raises(ModelError, match="no credit"):
        play(path, CLUMSY)
    with Log.open(path) as log:
        paid = seeds_of(log, CLUMSY.specs())
        assert log.value("SELECT count(*) FROM outcomes") < CLUMSY.rooms
    assert bool(paid) == (credit > 200)  # before that, only first rounds are in flight
    asked = clumsy(live=True)
    with play(path, CLUMSY) as log:
        assert digests(log) == whole
    assert not paid & set(asked)
    assert len(asked) + len(paid) == tries


def seeds_of(log: Log, specs: Iterable[RoomSpec]) -> set[tuple[str, int]]:
    """(model, seed) of every try that the log holds; a seed stands for one try of one turn."""
    by_room = {spec.room: spec for spec in specs}
    turns = log.rows("SELECT room, round, seat, attempts FROM turns")
    return {
        (
            by_room[room].models[seat],
            seed_of(by_room[room].seed, "seat", seat, round, attempt),
        )
        for room, round, seat, attempts in turns
        for attempt in range(attempts)
    }


def test_a_finished_study_is_not_played_again(
    small_log_path: Callable[..., Path], clumsy: Callable[..., list[tuple[str, int]]]
) -> None:
    asked = clumsy(live=False, credit=0)
    with Log.open(small_log_path()) as log, Workers(1) as workers:
        play_study(log, workers)
    assert asked == []


def test_rooms_that_are_missing_are_played_and_no_others(
    small_log: Log, small_log_path: Callable[..., Path], digests: Digests
) -> None:
    lost = ["w001_r3", "w004_r7"]
    tables = [
        "turns",
        "discarded",
        "refusals",
        "prompts",
        "cards",
        "filings",
        "outcomes",
        "intents",
    ]
    with Log.open(small_log_path()) as log:
        for table in tables:
            log.con.execute(f"DELETE FROM {table} WHERE room IN (SELECT unnest(?))", [lost])
        assert digests(log) != digests(small_log)
        with Workers(1) as workers:
            play_study(log, workers)
        assert digests(log) == digests(small_log)
