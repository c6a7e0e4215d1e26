"""How many replays a decision gets.

``published`` is the rule of the study: two replays with the post in the prompt, two without. The
arms are drawn independently of each other; other schedules will pair them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from replays.decisions import UNTOUCHED, Decision
from swarm.errors import UsageError
from swarm.log.store import Log
from swarm.runner import chunked

_ROOMS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Schedule:
    """A fixed number of replays.

    Attributes
    ----------
    name : str
    with_post, without_post : int
        Replays of a decision with the untouched prompt, and of each (decision, post) without it.
    """

    name: str
    with_post: int
    without_post: int

    def wanted(self, decisions: Iterable[Decision]) -> Iterator[tuple[Decision, int]]:
        """(decision, replicate) of every replay that the schedule asks for, once each."""
        shared = None
        for decision in sorted(decisions):
            turn = (decision.room, decision.round, decision.seat)
            if turn != shared:
                shared = turn
                for replicate in range(self.with_post):
                    yield Decision(*turn, UNTOUCHED), replicate
            for replicate in range(self.without_post):
                yield decision, replicate


SCHEDULES = {"published": Schedule("published", with_post=2, without_post=2)}


def schedule_named(name: str) -> Schedule:
    """The schedule called `name`.

    Raises
    ------
    UsageError
        When there is none.
    """
    if name not in SCHEDULES:
        raise UsageError(f"unknown schedule {name!r}; there is {', '.join(SCHEDULES)}")
    return SCHEDULES[name]


def missing(
    log: Log, schedule: Schedule, decisions: Iterable[Decision]
) -> Iterator[tuple[Decision, int]]:
    """The replays that `schedule` wants and the log does not hold, room after room.

    Some rooms are looked up at a time, so memory does not grow with the study.
    """
    by_room = groupby(sorted(decisions), key=lambda decision: decision.room)
    for some in chunked(((room, list(of_room)) for room, of_room in by_room), _ROOMS_AT_ONCE):
        held = {
            (Decision(*turn), replicate)
            for *turn, replicate in log.rows(
                "SELECT room, round, seat, removed, replicate FROM replays "
                "WHERE room IN (SELECT unnest(?))",
                [[room for room, _ in some]],
            )
        }
        for _, of_room in some:
            yield from (wanted for wanted in schedule.wanted(of_room) if wanted not in held)
