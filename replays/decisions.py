"""Which decisions are replayed, and with which post taken out.

A directive was followed when its teammate made the decision asked for in one of its first two turns
after the post (the log's view `follows`). Several directives may have asked for one decision: they
share its replays with the untouched prompt, and each post has its own without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from swarm.log.store import Log
from swarm.prompt import Block, Prompt

UNTOUCHED = 0
"""`removed` of a replay whose prompt is the logged one."""


@dataclass(frozen=True, slots=True, order=True)
class Decision:
    """A turn that made a decision, with one post to take out; `removed` is the post's block id."""

    room: str
    round: int
    seat: int
    removed: int


@dataclass(frozen=True, slots=True)
class Setting:
    """What a replay needs of its turn: the logged prompt, the seat's model, the room's seed."""

    prompt: Prompt
    model: str
    seed: int


def followed(log: Log, tagger: str) -> list[Decision]:
    """The followed directives of the log as (decision, post) pairs, once each, in order."""
    return [
        Decision(*row)
        for row in log.rows(
            "SELECT DISTINCT f.room, f.decision_round, f.teammate, p.post_block "
            "FROM follows f JOIN turns p ON p.room = f.room AND p.round = f.round "
            "AND p.seat = f.seat WHERE f.tagger = ? AND p.post_block IS NOT NULL ORDER BY ALL",
            [tagger],
        )
    ]


def settings_of(
    log: Log, turns: Sequence[tuple[str, int, int]]
) -> Iterator[tuple[tuple[str, int, int], Setting]]:
    """The logged prompt, model and seed of each (room, round, seat) in `turns`."""
    rooms, rounds, seats = (list(column) for column in zip(*turns, strict=True))
    found = log.rows(
        "SELECT p.room, p.round, p.seat, p.system, p.turn, s.model, r.seed "
        "FROM prompts p JOIN (SELECT unnest(?) AS room, unnest(?) AS round, unnest(?) AS seat) w "
        "USING (room, round, seat) JOIN seats s USING (room, seat) JOIN rooms r USING (room)",
        [rooms, rounds, seats],
    )
    ids = {b for row in found for b in (*row[3], *row[4])}
    blocks = {
        number: Block(kind, text)
        for number, kind, text in log.rows(
            "SELECT block, kind, text FROM blocks WHERE block IN (SELECT unnest(?::UBIGINT[]))",
            [list(ids)],
        )
    }
    for room, round, seat, system, turn, model, seed in found:
        prompt = Prompt(tuple(blocks[b] for b in system), tuple(blocks[b] for b in turn))
        yield (room, round, seat), Setting(prompt, model, seed)
