"""Whatever agents reply, the rules hold.

Eight seats answer from a deck of replies that hypothesis makes: noise, broken and monstrous JSON,
and replies that are legal or nearly so. The deck is shuffled by the seed of each call, so any
reply may come at any time. What every model read and what the room logged is then held against
the rules, told a second time and more simply than in the code.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.outage import OutageRoom, OutageSettings
from scenarios.outage.world import World, make_world
from swarm.design import RoomSpec
from swarm.log.store import Log, commit
from swarm.log.tables import batch_of, schemas
from swarm.models.base import Reply
from swarm.prompt import Prompt
from swarm.repair import read_object
from swarm.room import play_room
from swarm.study import Study
from swarm.text import unquoted

STUDY = Study(rooms=400, seed=17)
SPECS = list(STUDY.specs())
SEATS = range(8)
Answer = Callable[[Prompt, int], str]


@dataclass
class Seat:
    """The model of one seat; it keeps what it read."""

    name: str
    answer: Answer
    reasoning: str | None = None
    surrogate: bool = True
    read: list[Prompt] = field(default_factory=list)

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        """What `answer` says."""
        self.read.append(prompt)
        return Reply(self.answer(prompt, seed), reasoning=self.reasoning)


@dataclass
class Played:
    """A room with its rows and its models."""

    spec: RoomSpec
    models: list[Seat]
    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def table(self, name: str) -> list[SimpleNamespace]:
        """The rows of a table of the log, by column."""
        names = schemas()[name].names
        return [
            SimpleNamespace(**dict(zip(names, row, strict=True))) for row in self.rows.get(name, ())
        ]

    @property
    def sizes(self) -> OutageSettings:
        """The room's settings."""
        assert isinstance(self.spec.settings, OutageSettings)
        return self.spec.settings

    @property
    def world(self) -> World:
        """The room's world, with its truth."""
        return make_world(self.sizes, self.spec.world_seed)


def play(spec: RoomSpec, answer: Answer, *, reasoning: str | None = None) -> Played:
    """Play `spec` with a model of its own in every seat."""
    models = [Seat(f"model {k}", answer, reasoning) for k in SEATS]
    spec = replace(spec, models=tuple(model.name for model in models))
    played = Played(spec, models)

    def sink(rows: dict[str, list[tuple[Any, ...]]]) -> None:
        for table, more in rows.items():
            played.rows.setdefault(table, []).extend(more)

    asyncio.run(play_room(OutageRoom(), spec, {m.name: m for m in models}, sink=sink))
    return played


def dealt(deck: list[str]) -> Answer:
    """An answer that draws from `deck` by the seed of the call."""
    return lambda prompt, seed: Random(seed).choice(deck)


# Replies


SERVICES = OutageSettings().services
characters = st.characters(exclude_categories=())  # lone surrogates, controls and NULs too
texts = st.text(characters, max_size=400) | st.sampled_from(
    ["\x00", "\ud800", "\n[round 2] Bo posts: \"cart\"", "\u2028\u202e\x85", "\x1b[2J", "x" * 5000]
)  # fmt: skip
scalars = texts | st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**4000)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
keys = st.sampled_from(["note", "post", "query", "file"])
odd_objects = st.dictionaries(keys | texts, values, max_size=6).map(json.dumps)
MONSTERS = [
    '{"note": "' + "x" * 10_000_000 + '"}',
    "{" * 10_000_000,
    '{"post": ' + "[" * 970 + "]" * 970 + "}",
    '{"note": ' + '{"a":' * 5000,
    "{'query': 0x" + "f" * 9000 + "}",
    "{'note': b'x', 'post': {1, 2}, 'query': ..., 'file': 1j}",
    "{'file': " + "-" * 9000 + "1}",
    '{"post": "\\ud800\\u0000\\u2028", "note": "\\udfff", "query": "\\ud800"}',
    "```json\n" * 2000,
    '{"note": NaN, "post": 1e999, "query": -0, "file": true}',
    "",
]
noise = st.one_of(
    st.binary(max_size=300).map(lambda b: b.decode("utf-8", "surrogateescape")),
    texts,
    odd_objects,
    odd_objects.map(lambda text: f"Sure!\n```json\n{text}\n```"),
    odd_objects.map(lambda text: text[: len(text) * 2 // 3]),
    st.sampled_from(MONSTERS),
)


def moves(world: World) -> st.SearchStrategy[str]:
    """Readable replies, legal or nearly so: texts only, among them real services and ids."""
    causes = st.sampled_from([o.cause for o in world.outages])
    return st.fixed_dictionaries(
        {
            "note": st.sampled_from(["", "a note", "n" * 2100]),
            "post": st.sampled_from(["", "Bo: cart", "p" * 280, "q" * 281]),
            "query": st.sampled_from(["", *SERVICES, "fax"]),
            "file": causes | st.sampled_from(["", "", *(c.id for c in world.changes), "D-1"]),
        }
    ).map(json.dumps)


# The rules, told again


def assert_rules(played: Played) -> None:
    """Hold a room's rows and its models' prompts against the rules."""
    turns = played.table("turns")
    assert_order(played)
    for seat in SEATS:
        assert sum(t.query is not None for t in turns if t.seat == seat) <= 1
    assert not any(t.query and t.round < 2 for t in turns)
    assert not any(t.file and t.round < 3 for t in turns)
    assert all(len(t.post) <= 280 for t in turns)
    filed = [t.file for t in turns if t.file is not None]
    causes = {o.cause for o in played.world.outages}
    assert len(filed) == len(set(filed)) <= 4
    assert [(r.change, r.correct) for r in played.table("filings")] == [
        (change, change in causes) for change in filed
    ]
    assert_visibility(played)
    batch_of(played.rows)  # and all of it can be stored


def assert_order(played: Played) -> None:
    """Every round is a permutation; only the last may break off, and only when the game is over."""
    turns, causes = played.table("turns"), {o.cause for o in played.world.outages}
    rounds = sorted({t.round for t in turns})
    assert rounds == list(range(1, len(rounds) + 1)) and len(rounds) <= 8
    for round in rounds:
        seats = [t.seat for t in turns if t.round == round]
        assert [t.position for t in turns if t.round == round] == list(range(len(seats)))
        assert len(set(seats)) == len(seats)
        assert len(seats) == 8 or round == rounds[-1]
    filings_at = [k for k, t in enumerate(turns) if t.file is not None]
    filed = [turns[k].file for k in filings_at]
    if len(filed) == 4:
        assert filings_at[-1] == len(turns) - 1, "nobody has a turn after the fourth filing"
    fixed = len(causes & set(filed))
    ended = len(filed) == 4 or fixed == 4
    assert ended or (len(rounds) == 8 and len(turns) == 64)
    (end,) = played.table("outcomes")
    assert end.reason == ("fixed" if fixed == 4 else "filings spent" if ended else "rounds over")
    assert (end.rounds, end.turns, end.filings, end.fixed) == (
        rounds[-1],
        len(turns),
        len(filed),
        fixed,
    )


def assert_visibility(played: Played) -> None:
    """Each prompt holds the posts made before it, the seat's own notes and cards, nothing else."""
    blocks = {row.block: row for row in played.table("blocks")}
    logged = {(row.round, row.seat): (row.system, row.turn) for row in played.table("prompts")}
    read: dict[int, list[tuple[list[int], list[int]]]] = {seat: [] for seat in SEATS}
    for seat, model in enumerate(played.models):
        for prompt in model.read:
            seen = ([b.id for b in prompt.system], [b.id for b in prompt.turn])
            if seen not in read[seat]:  # a retry reads the same again
                read[seat].append(seen)
    earlier: list[SimpleNamespace] = []
    for turn in played.table("turns"):
        round, seat = turn.round, turn.seat
        system, history = logged[round, seat]
        assert (system, history) == read[seat].pop(0), "the log holds what the model read"
        shown = {kind: [b for b in history if blocks[b].kind == kind] for kind in
                 ("post", "note", "card", "filing")}  # fmt: skip
        before = [t for t in earlier if round > 1]
        assert shown["post"] == [t.post_block for t in before if t.post_block is not None]
        assert len(shown["filing"]) == sum(t.file is not None for t in before)
        notes = [_said(blocks[b].text, "your note") for b in shown["note"]]
        assert notes == [(t.round, t.note) for t in before if t.seat == seat and t.note]
        cards = [r.block for r in played.table("cards") if r.seat == seat and r.round < round]
        assert shown["card"] == cards
        assert all("\n" not in blocks[b].text for kind in shown for b in shown[kind])
        earlier.append(turn)
    assert not any(read.values()), "nobody was asked beyond its logged turns"


def _said(line: str, what: str) -> tuple[int, str]:
    """(round, text) of a quoted line of the history."""
    match = re.fullmatch(rf"\[round (\d+)\] {what}: (\".*\")", line)
    assert match, line
    return int(match[1]), unquoted(match[2])


def expected_turns(played: Played) -> list[tuple[str | None, str | None, set[tuple[str, str]]]]:
    """(query, filing, refusals) of each turn, from its readable reply alone."""
    known = {c.id for c in played.world.changes}
    queried: set[int] = set()
    filed: set[str] = set()
    found = []
    for turn in played.table("turns"):
        round, seat, move = turn.round, turn.seat, json.loads(turn.reply)
        query, change = move["query"] or None, move["file"] or None
        no: set[tuple[str, str]] = set()
        no |= {("post", "cut at 280 characters")} if len(move["post"]) > 280 else set()
        no |= {("note", "cut at 2000 characters")} if len(move["note"]) > 2000 else set()
        if query and (query not in SERVICES or round < 2 or seat in queried):
            why = "queries open in round 2" if round < 2 else "no query left"
            no.add(("query", why if query in SERVICES else "no such service"))
            query = None
        queried |= {seat} if query else set()
        if change and (change not in known or round < 3 or change in filed):
            why = "filings open in round 3" if round < 3 else "already filed"
            no.add(("file", why if change in known else "no such change"))
            change = None
        filed |= {change} if change else set()
        found.append((query, change, no))
    return found


# Properties


@settings(max_examples=50, deadline=None)
@given(st.lists(noise, min_size=1, max_size=20), st.sampled_from(SPECS), texts)
def test_no_reply_breaks_a_rule_or_stops_a_room(
    deck: list[str], spec: RoomSpec, reasoning: str
) -> None:
    assert_rules(play(spec, dealt(deck), reasoning=reasoning))


@pytest.mark.parametrize("number", range(len(MONSTERS)))
def test_a_room_of_monsters_ends_by_the_clock(number: int) -> None:
    played = play(SPECS[number], dealt([MONSTERS[number]]))
    assert_rules(played)
    assert len(played.rows["turns"]) == 64
    assert all(len(turn.reply) <= 20_000 for turn in played.table("turns"))


def test_nesting_of_any_depth_stops_no_room() -> None:
    # Where the interpreter's patience ends depends on its stack, so every depth near it is tried.
    depth = count(750)

    def nested(prompt: Prompt, seed: int) -> str:
        return '{"post": ' + "[" * (n := next(depth)) + "]" * n + "}"

    while next(depth) < 1010:
        assert_rules(play(SPECS[0], nested))


@settings(max_examples=120, deadline=None)
@given(st.data(), st.sampled_from(SPECS))
def test_readable_replies_take_effect_exactly_as_far_as_they_are_legal(
    data: st.DataObject, spec: RoomSpec
) -> None:
    sizes = spec.settings
    assert isinstance(sizes, OutageSettings)
    world = make_world(sizes, spec.world_seed)
    played = play(spec, dealt(data.draw(st.lists(moves(world), min_size=2, max_size=40))))
    assert_rules(played)
    refused: dict[tuple[int, int], set[tuple[str, str]]] = {}
    for row in played.table("refusals"):
        refused.setdefault((row.round, row.seat), set()).add((row.field, row.reason))
    happened = [
        (t.query, t.file, refused.get((t.round, t.seat), set())) for t in played.table("turns")
    ]
    assert happened == expected_turns(played)


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(SPECS), st.lists(noise, max_size=10))
def test_noise_among_moves_changes_no_rule(
    data: st.DataObject, spec: RoomSpec, noise: list[str]
) -> None:
    assert isinstance(spec.settings, OutageSettings)
    world = make_world(spec.settings, spec.world_seed)
    deck = [*data.draw(st.lists(moves(world), min_size=1, max_size=30)), *noise]
    spec = replace(spec, retries=data.draw(st.integers(0, 3)))
    played = play(spec, dealt(deck))
    assert_rules(played)
    for turn in played.table("turns"):
        assert turn.attempts <= 1 + spec.retries
        assert turn.status == read_object(turn.reply).status


@settings(max_examples=20, deadline=None)
@given(st.lists(noise | st.just('{"post": "hi", "note": "n"}'), min_size=1, max_size=12))
def test_without_a_channel_no_reply_reaches_another_prompt(deck: list[str]) -> None:
    silent = OutageSettings(channel=False)
    played = play(replace(SPECS[0], settings=silent), dealt(deck))
    assert_rules(played)
    assert not any(turn.post or turn.post_block for turn in played.table("turns"))
    assert not any(b.kind == "post" for m in played.models for p in m.read for b in p.turn)


@settings(max_examples=15, deadline=None)
@given(st.lists(noise, min_size=1, max_size=12), texts)
def test_a_log_keeps_every_character(log: Log, deck: list[str], reasoning: str) -> None:
    room = f"stored {log.value('SELECT count(*) FROM outcomes')}"
    played = play(replace(SPECS[1], room=room), dealt(deck), reasoning=reasoning)
    commit(log.con, batch_of(played.rows))
    kept = log.rows(
        "SELECT round, seat, reply, note, post, reasoning FROM turns WHERE room = ? "
        "ORDER BY round, position",
        [room],
    )
    assert kept == [
        (t.round, t.seat, t.reply, t.note, t.post, t.reasoning) for t in played.table("turns")
    ]
    stored = dict(log.rows("SELECT block, text FROM blocks"))
    assert all(stored[row.block] == row.text for row in played.table("blocks"))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An empty log in a real file."""
    path: Path = tmp_path_factory.mktemp("properties") / "log.duckdb"
    with Log.open_or_create(path, Study(rooms=1)) as opened:
        yield opened


# A team that plays well


def perfect(prompt: Prompt, seed: int) -> str:
    """A teammate who knows its prompt only: divides the services, shows its cards, files causes."""
    system, turn = prompt.texts
    me = re.findall(r"^You are (\w+),", system)[0]
    place = re.findall(r"^Team: (.+)\.$", system, re.MULTILINE)[0].split(", ").index(me)
    alerting = re.findall(r"^- (\w+): more than", turn, re.MULTILINE)
    roots = dict(re.findall(r"your query of (\w+): requests fail because (\w+) answers", turn))
    mine = [line for line in turn.split("\n") if re.match(r"\[round \d+\] your query of", line)]
    filed = re.findall(r"files (D-\d+)", turn)
    open_causes = [c for c in re.findall(r"errors began with (D-\d+)", turn) if c not in filed]
    mate = alerting[place % 4]
    move = {
        "post": mine[-1] if mine else "",
        "query": mate if place < 4 else roots.get(mate, ""),
        "file": open_causes[0] if open_causes else "",
    }
    return json.dumps(move)


def test_the_cards_are_sufficient() -> None:
    for spec in SPECS[::2]:
        played = play(spec, perfect)
        (end,) = played.table("outcomes")
        assert (end.reason, end.queries, end.duplicates, end.filings) == ("fixed", 8, 0, 4)
        assert end.rounds <= 6
