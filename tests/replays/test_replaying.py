"""A replay asks a decision's turn again, as it was logged or with exactly one post taken out.

The rooms here are written row by row into a real log, so it is known which directive was followed
when. Models that only remember what they were asked stand in for the surrogates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from analysis.influence import units_of
from replays.decisions import UNTOUCHED, Decision, followed
from replays.replaying import replay_study
from replays.schedule import SCHEDULES, Schedule
from swarm.errors import UsageError
from swarm.log.store import Log, commit
from swarm.log.tables import batch_of, schemas
from swarm.models.base import Reply
from swarm.pool import Workers
from swarm.prompt import Block, Prompt
from swarm.study import Study

ROOM = "w000_r0"
ADA, BO, CY, DEE = range(4)
Rows = dict[str, list[tuple[Any, ...]]]


@dataclass
class Script:
    """A room, written turn by turn; every turn's prompt holds the posts that it could see."""

    rows: Rows = field(default_factory=dict)
    posted: list[tuple[int, Block]] = field(default_factory=list)

    def add(self, table: str, **values: Any) -> None:
        """One row; columns that are not given are empty."""
        names = schemas()[table].names
        assert values.keys() <= set(names)
        self.rows.setdefault(table, []).append(tuple(values.get(name) for name in names))

    def turn(
        self,
        round: int,
        position: int,
        seat: int,
        *,
        post: str = "",
        asks: tuple[tuple[int, str, str], ...] = (),
        query: str | None = None,
        file: str | None = None,
    ) -> int:
        """A turn, its prompt and the directives in its post; the id of the post's block."""
        key: dict[str, Any] = {"room": ROOM, "round": round, "seat": seat}
        rules = Block("rules", f"seat {seat}")
        state = Block("state", f"round {round}")
        seen = [b for r, b in self.posted if r < round or (r == round > 1)]
        said = Block("post", f"[round {round}] {seat} posts: {post}")
        for block in (rules, state, said):
            self.add("blocks", block=block.id, kind=block.kind, text=block.text)
        self.add("prompts", **key, system=[rules.id], turn=[*(b.id for b in seen), state.id])
        self.add(
            "turns",
            **key,
            position=position,
            attempts=1,
            status="ok",
            reply="{}",
            note="",
            post=post,
            post_block=said.id if post else None,
            query=query,
            file=file,
        )
        if post:
            self.posted.append((round, said))
        for mate, kind, target in asks:
            self.add("directives", tagger="rules", **key, teammate=mate, kind=kind, target=target)
        return said.id

    def into(self, log: Log) -> None:
        """Write everything, and that the room is finished and tagged."""
        self.add("outcomes", room=ROOM, reason="rounds over", rounds=8)
        self.add("tagged", tagger="rules", version="1", model="", room=ROOM, posts=len(self.posted))
        commit(log.con, batch_of(self.rows))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """A log of one room that nobody has played yet."""
    with Log.open_or_create(tmp_path / "log.duckdb", Study(rooms=1)) as opened:
        yield opened


@dataclass
class Remembering:
    """A model that replies the same always and keeps what it was asked."""

    name: str
    text: str = '{"query": "cart"}'
    surrogate: bool = True
    asked: list[tuple[Prompt, int]] = field(default_factory=list)

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        """The text."""
        self.asked.append((prompt, seed))
        return Reply(self.text)


def replayed(log: Log, monkeypatch: pytest.MonkeyPatch, text: str = "{}") -> list[Remembering]:
    """Run the stage with remembering models; those that were asked anything."""
    made: list[Remembering] = []

    def models_for(scenario: object, names: Any) -> dict[str, Remembering]:
        made.extend(Remembering(name, text) for name in sorted(names))
        return {model.name: model for model in made}

    monkeypatch.setattr("replays.replaying.models_for", models_for)
    with Workers(1) as workers:
        replay_study(log, workers, tagger="rules", schedule="published")
    return [model for model in made if model.asked]


def arms(log: Log) -> list[tuple[int, int]]:
    """(block taken out, replicate) of every replay in the log."""
    return log.rows("SELECT removed, replicate FROM replays ORDER BY ALL")


# What is asked again


def two_orders(log: Log) -> tuple[int, int]:
    """Two posts order what Bo then does; the ids of their blocks."""
    script = Script()
    first = script.turn(1, 0, ADA, post="Bo: cart", asks=((BO, "query", "cart"),))
    second = script.turn(1, 1, CY, post="cart, Bo!", asks=((BO, "query", "cart"),))
    script.turn(2, 0, DEE, post="hello")
    script.turn(2, 1, BO, query="cart")
    script.into(log)
    return first, second


def test_one_arm_reads_the_logged_prompt_and_the_other_lacks_exactly_the_post(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    post = script.turn(1, 0, ADA, post="Bo: cart", asks=((BO, "query", "cart"),))
    script.turn(1, 1, CY, post="hello")
    script.turn(2, 0, BO, query="cart")
    script.into(log)
    (model,) = replayed(log, monkeypatch)
    system, turn = log.rows("SELECT system, turn FROM prompts WHERE round = 2")[0]
    read = [([b.id for b in p.system], [b.id for b in p.turn]) for p, _ in model.asked]
    assert post in turn
    assert read == [(system, turn)] * 2 + [(system, [b for b in turn if b != post])] * 2
    assert arms(log) == [(UNTOUCHED, 0), (UNTOUCHED, 1), (post, 0), (post, 1)]


def test_directives_that_one_decision_satisfies_share_its_untouched_replays(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_orders(log)
    replayed(log, monkeypatch)
    assert arms(log) == sorted((b, i) for b in (UNTOUCHED, first, second) for i in (0, 1))
    units = units_of(log, tagger="rules", schedule=SCHEDULES["published"])
    assert [(u.seat, u.n_with, u.n_without) for u in units] == [(ADA, 2, 2), (CY, 2, 2)]


def test_two_directives_of_one_post_to_one_decision_are_one_removal(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    both = ((BO, "query", "cart"), (BO, "file", "D-466"))
    post = script.turn(2, 0, ADA, post="Bo: cart, D-466", asks=both)
    script.turn(3, 0, BO, query="cart", file="D-466")
    script.into(log)
    replayed(log, monkeypatch)
    assert arms(log) == sorted((b, i) for b in (UNTOUCHED, post) for i in (0, 1))
    assert [u.kind for u in units_of(log, tagger="rules", schedule=SCHEDULES["published"])] == [
        "file", "query",
    ]  # fmt: skip


def test_every_replay_has_a_seed_of_its_own(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    two_orders(log)
    (model,) = replayed(log, monkeypatch)
    seeds = [seed for _, seed in model.asked]
    assert len(set(seeds)) == len(seeds) == 6
    assert sorted(seeds) == [s for (s,) in log.rows("SELECT seed FROM replays ORDER BY seed")]


def test_replays_that_the_log_holds_are_not_run_again(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_orders(log)
    replayed(log, monkeypatch)
    before = log.rows("SELECT * FROM replays ORDER BY ALL")
    assert replayed(log, monkeypatch) == []
    log.con.execute("DELETE FROM replays WHERE removed = ? AND replicate = 1", [second])
    (model,) = replayed(log, monkeypatch)
    assert [second not in prompt and first in prompt for prompt, _ in model.asked] == [True]
    assert log.rows("SELECT * FROM replays ORDER BY ALL") == before


def test_the_original_decision_is_never_counted(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    two_orders(log)
    replayed(log, monkeypatch, text='{"query": "auth"}')
    for unit in units_of(log, tagger="rules", schedule=SCHEDULES["published"]):
        assert (unit.n_with, unit.x_with, unit.n_without, unit.x_without) == (2, 0, 2, 0)


def test_a_replay_is_logged_with_what_it_decides(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    two_orders(log)
    text = '```json\n{"query": " Cart ", "file": "d-466"}\n```'
    replayed(log, monkeypatch, text=text)
    assert log.rows("SELECT DISTINCT query, file, status, attempts, reply FROM replays") == [
        ("cart", "D-466", "repaired", 1, text)
    ]


def test_a_replay_that_cannot_be_read_decides_nothing(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_orders(log)
    replayed(log, monkeypatch, text="-")
    assert log.rows("SELECT DISTINCT query, file, status, attempts FROM replays") == [
        (None, None, "invalid", 2)
    ]


def test_rooms_must_be_tagged_before_they_are_replayed(log: Log) -> None:
    two_orders(log)
    with Workers(1) as workers:
        with pytest.raises(UsageError, match="not tagged"):
            replay_study(log, workers, tagger="learned", schedule="published")
        with pytest.raises(UsageError, match="unknown schedule"):
            replay_study(log, workers, tagger="rules", schedule="endless")


def test_a_schedule_asks_for_shared_replays_once_a_turn() -> None:
    plan = Schedule("trial", with_post=3, without_post=1)
    decisions = [Decision("a", 2, 1, 9), Decision("a", 2, 1, 5), Decision("a", 3, 1, 5)]
    assert list(plan.wanted(decisions)) == [
        *((Decision("a", 2, 1, UNTOUCHED), i) for i in range(3)),
        (Decision("a", 2, 1, 5), 0),
        (Decision("a", 2, 1, 9), 0),
        *((Decision("a", 3, 1, UNTOUCHED), i) for i in range(3)),
        (Decision("a", 3, 1, 5), 0),
    ]


# When a directive was followed


def follows(log: Log) -> list[tuple[int, int]]:
    """(round of the decision, which turn after the post) of every followed directive."""
    return log.rows("SELECT decision_round, turn FROM follows ORDER BY ALL")


ASK = ((BO, "query", "cart"),)


@pytest.mark.parametrize(("decided", "found"), [(2, [(2, 1)]), (3, [(3, 2)]), (4, []), (5, [])])
def test_the_first_and_second_turn_after_a_round_1_post_follow_and_no_later_one(
    log: Log, decided: int, found: list[tuple[int, int]]
) -> None:
    script = Script()
    script.turn(1, 0, ADA, post="Bo: cart", asks=ASK)
    script.turn(1, 1, BO)
    for round in range(2, 6):
        script.turn(round, 0, BO, query="cart" if round == decided else None)
    script.into(log)
    assert follows(log) == found
    assert len(followed(log, "rules")) == len(found)


@pytest.mark.parametrize("position", [0, 2])
def test_nobody_sees_a_round_1_post_in_round_1(log: Log, position: int) -> None:
    script = Script()
    script.turn(1, 1, ADA, post="Bo: cart", asks=ASK)
    script.turn(1, position, BO, query="cart")
    script.into(log)
    assert follows(log) == []


@pytest.mark.parametrize(
    ("bo", "decided", "found"),
    [
        (5, 3, [(3, 1)]),  # Bo's turn comes later in the round: it sees the post at once
        (5, 4, [(4, 2)]),
        (5, 5, []),
        (0, 3, []),  # it came before the post was made
        (0, 4, [(4, 1)]),
        (0, 5, [(5, 2)]),
        (0, 6, []),
    ],
)
def test_in_a_later_round_the_place_in_the_turn_order_decides_who_sees_a_post(
    log: Log, bo: int, decided: int, found: list[tuple[int, int]]
) -> None:
    script = Script()
    for round in range(1, 7):
        said = {"post": "Bo: cart", "asks": ASK} if round == 3 else {}
        script.turn(round, 3, ADA, **said)  # type: ignore[arg-type]
        script.turn(round, bo, BO, query="cart" if round == decided else None)
    script.into(log)
    assert follows(log) == found


@pytest.mark.parametrize(
    "decision",
    [{"query": "auth"}, {"file": "cart"}, {"file": "D-466"}, {}],
    ids=["other service", "wrong kind", "a filing", "nothing"],
)
def test_only_the_decision_that_was_asked_for_follows(log: Log, decision: dict[str, str]) -> None:
    script = Script()
    script.turn(1, 0, ADA, post="Bo: cart", asks=ASK)
    script.turn(2, 0, BO, **decision)  # type: ignore[arg-type]
    script.turn(2, 1, CY, query="cart")
    script.into(log)
    assert follows(log) == []


def test_a_filing_follows_a_request_to_file(log: Log) -> None:
    script = Script()
    script.turn(2, 0, ADA, post="Bo, file D-466", asks=((BO, "file", "D-466"),))
    script.turn(3, 0, BO, query="cart", file="D-466")
    script.into(log)
    assert follows(log) == [(3, 1)]
