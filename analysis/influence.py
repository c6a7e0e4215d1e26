"""Weights, leaders and followers by the published rule.

A, B are the shares of a followed directive's replays, with and without its post, that make the
decision; its weight is max(0, A - B). The leader of a room is the agent whose followed directives
have the largest total weight: at least 2, strictly more than any other agent's, and from at least
two followers. The original decision is never counted in A: it was selected for having been made.

*Mirror leaders* are the agents that the same rule finds with A and B exchanged. Nobody leads by
being followed less, so their number says how many leaders chance alone would give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from replays.decisions import UNTOUCHED, followed
from replays.replaying import require_tagged
from replays.schedule import Schedule, missing, schedule_named
from swarm.errors import UsageError
from swarm.log.store import Log, commit
from swarm.log.tables import batch_of
from swarm.scenario import Rows

MIN_TOTAL = 2.0
MIN_FOLLOWERS = 2


@dataclass(frozen=True, slots=True)
class Unit:
    """A followed directive with its replays.

    Attributes
    ----------
    room : str
    round, seat : int
        Of the post: its round and its author.
    teammate : int
        The follower's seat.
    kind, target : str
        What was asked: ``query`` a service or ``file`` a change.
    decision_round : int
    n_with, x_with, n_without, x_without : int
        Replays with and without the post, and how many of them make the decision.
    """

    room: str
    round: int
    seat: int
    teammate: int
    kind: str
    target: str
    decision_round: int
    n_with: int
    x_with: int
    n_without: int
    x_without: int

    @property
    def a(self) -> float:
        """Share with the post."""
        return self.x_with / self.n_with

    @property
    def b(self) -> float:
        """Share without the post."""
        return self.x_without / self.n_without

    @property
    def weight(self) -> float:
        """max(0, A - B).

        Examples
        --------
        >>> Unit("w035_r2", 1, 3, 2, "query", "pricing", 2, 2, 1, 2, 0).weight
        0.5
        """
        return max(0.0, self.a - self.b)

    @property
    def mirror_weight(self) -> float:
        """max(0, B - A)."""
        return max(0.0, self.b - self.a)


@dataclass(frozen=True, slots=True)
class Leader:
    """An agent that leads its room; `total` is the sum of its weights."""

    rule: str
    room: str
    seat: int
    total: float
    followers: int
    round1: bool


def leaders_of(
    units: Iterable[Unit], *, mirror: bool = False, round1_plans: frozenset[tuple[str, int]]
) -> list[Leader]:
    """The leader of every room that has one, by the published rule or its mirror.

    Parameters
    ----------
    units : iterable of Unit
        All followed directives; of any number of rooms.
    round1_plans : set of (room, seat)
        Authors of a plan in round 1. A leader is a round-1 leader when it wrote one and a
        directive of its round-1 post carries weight.

    Returns
    -------
    list of Leader
        By room. A room whose largest total is shared has no leader.
    """
    rule = "mirror" if mirror else "published"
    totals: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    followers: dict[tuple[str, int], set[int]] = defaultdict(set)
    early: set[tuple[str, int]] = set()
    for unit in units:
        weight = unit.mirror_weight if mirror else unit.weight
        totals[unit.room][unit.seat] += weight
        if weight > 0:
            followers[unit.room, unit.seat].add(unit.teammate)
            if unit.round == 1 and (unit.room, unit.seat) in round1_plans:
                early.add((unit.room, unit.seat))
    found = []
    for room in sorted(totals):
        ranked = sorted(totals[room].items(), key=lambda item: (-item[1], item[0]))
        seat, total = ranked[0]
        alone = len(ranked) == 1 or ranked[1][1] < total
        count = len(followers[room, seat])
        if total >= MIN_TOTAL and alone and count >= MIN_FOLLOWERS:
            found.append(Leader(rule, room, seat, total, count, (room, seat) in early))
    return found


def units_of(log: Log, *, tagger: str, schedule: Schedule) -> list[Unit]:
    """Every followed directive of the log with its replays under `schedule`, in order."""
    return [
        Unit(*row)
        for row in log.rows(
            """
            WITH counted AS (
                SELECT room, round, seat, removed, query, file FROM replays
                WHERE replicate < CASE WHEN removed = $untouched THEN $with ELSE $without END
            ),
            asked AS (
                SELECT f.*, p.post_block FROM follows f
                JOIN turns p ON p.room = f.room AND p.round = f.round AND p.seat = f.seat
                WHERE f.tagger = $tagger
            )
            SELECT a.room, a.round, a.seat, a.teammate, a.kind, a.target, a.decision_round,
                count(*) FILTER (c.removed = $untouched),
                count(*) FILTER (c.removed = $untouched AND
                    CASE a.kind WHEN 'query' THEN c.query ELSE c.file END = a.target),
                count(*) FILTER (c.removed = a.post_block),
                count(*) FILTER (c.removed = a.post_block AND
                    CASE a.kind WHEN 'query' THEN c.query ELSE c.file END = a.target)
            FROM asked a JOIN counted c
                ON c.room = a.room AND c.round = a.decision_round AND c.seat = a.teammate
            GROUP BY ALL ORDER BY ALL
            """,
            {  # type: ignore[arg-type]  # named parameters come as a dict
                "tagger": tagger,
                "untouched": UNTOUCHED,
                "with": schedule.with_post,
                "without": schedule.without_post,
            },
        )
    ]


def attribute(log: Log, *, tagger: str, schedule: str) -> None:
    """Compute weights and leaders anew and put them into the log, in one transaction.

    Raises
    ------
    UsageError
        When rooms are not tagged, or replays are missing.
    """
    plan = schedule_named(schedule)
    require_tagged(log, tagger)
    lacking = sum(1 for _ in missing(log, plan, followed(log, tagger)))
    if lacking:
        raise UsageError(
            f"{lacking} replays of the {schedule!r} schedule are missing in {log.path}; run "
            f"`python -m swarm replay {log.path} --tagger {tagger} --schedule {schedule}` first"
        )
    units = units_of(log, tagger=tagger, schedule=plan)
    plans = frozenset(
        log.rows("SELECT room, seat FROM plans WHERE tagger = ? AND round = 1", [tagger])
    )
    leaders = [
        leader
        for mirror in (False, True)
        for leader in leaders_of(units, mirror=mirror, round1_plans=plans)
    ]
    rows: Rows = {
        "influences": [
            (
                tagger,
                schedule,
                *(u.room, u.round, u.seat, u.teammate, u.kind, u.target, u.decision_round),
                *(u.n_with, u.x_with, u.n_without, u.x_without, u.a, u.b, u.weight),
            )
            for u in units
        ],
        "leaders": [
            (tagger, schedule, n.rule, n.room, n.seat, n.total, n.followers, n.round1)
            for n in leaders
        ],
    }
    where = f"WHERE tagger = '{tagger}' AND schedule = '{schedule}'"  # both are registered names
    commit(
        log.con,
        batch_of({table: given for table, given in rows.items() if given}),
        first=(f"DELETE FROM influences {where}", f"DELETE FROM leaders {where}"),
    )
