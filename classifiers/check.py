"""How a tagger did on a run, where it is known what the posts meant.

Scripted agents log what they mean by a post (`intents`). That serves twice: as a tagger of its own,
``intended``, so that leaders can be computed from the truth beside those from tags; and for the
check that the outage study made with two annotators: 60 random posts, 40 of them from round 1.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from swarm.errors import UsageError
from swarm.log.store import Log, commit
from swarm.log.tables import batch_of

INTENDED = "intended"
"""Name of the tagger that reads minds."""


Place: TypeAlias = tuple[str, int, int]
"""Room, round, seat of a post."""


@dataclass(frozen=True, slots=True)
class Check:
    """A tagger's directives in some posts against those that were meant.

    Attributes
    ----------
    posts, with_directives : int
        Posts drawn, and how many of them were meant to hold a directive.
    meant, tagged, both : int
        Directives: meant, found by the tagger, and both.
    """

    posts: int
    with_directives: int
    meant: int
    tagged: int
    both: int


def take_intended(log: Log) -> None:
    """Enter what the surrogates meant as the directives of the tagger ``intended``.

    Raises
    ------
    UsageError
        When live models play in the study: nobody knows what they meant.
    """
    if log.study.live_models:
        raise UsageError(
            "the tagger intended knows scripted agents only; this study has live models: "
            f"{', '.join(sorted(log.study.live_models))}"
        )
    new = (
        "o.room IN (SELECT room FROM outcomes) "
        "AND o.room NOT IN (SELECT room FROM tagged WHERE tagger = $1)"
    )
    directives = log.rows(
        "SELECT DISTINCT $1, o.room, o.round, o.seat, s.seat, o.kind, o.target, NULL "
        "FROM intents o JOIN seats s ON s.room = o.room AND s.name = o.teammate "
        "JOIN turns t ON t.room = o.room AND t.round = o.round AND t.seat = o.seat "
        f"WHERE t.post_block IS NOT NULL AND {new} ORDER BY ALL",
        [INTENDED],
    )
    tagged = log.rows(
        "SELECT $1, '1', '', room, (SELECT count(*) FROM turns t WHERE t.room = o.room AND "
        f"t.post_block IS NOT NULL), NULL, 0 FROM outcomes o WHERE {new} ORDER BY ALL",
        [INTENDED],
    )
    rows = {"tagged": tagged, "directives": directives}
    commit(log.con, batch_of({table: given for table, given in rows.items() if given}))


def check_tagger(
    log: Log, tagger: str, *, posts: int = 60, first_round: int = 40, random_state: int = 0
) -> Check:
    """Draw posts of a run and compare the tagger's directives with those that were meant.

    Parameters
    ----------
    posts, first_round : int
        Posts to draw, and how many of them from round 1; all there are when there are fewer.
    random_state : int
        Seed of the draw.

    Raises
    ------
    UsageError
        When the tagger has not been through the log, or no agent of it is scripted.
    """
    if not log.value("SELECT count(*) FROM tagged WHERE tagger = ?", [tagger]):
        raise UsageError(
            f"{log.path} is not tagged by {tagger}; run "
            f"`python -m swarm tag {log.path} --tagger {tagger}` first"
        )
    if not log.value("SELECT count(*) FROM intents"):
        raise UsageError(f"{log.path} does not say what its posts meant: no scripted agent in it")
    places = log.rows(
        "SELECT t.room, t.round, t.seat FROM turns t JOIN seats s USING (room, seat) "
        "JOIN tagged g ON g.room = t.room AND g.tagger = ? WHERE t.post_block IS NOT NULL "
        "AND s.model IN (SELECT unnest(surrogates) FROM studies) ORDER BY ALL",
        [tagger],
    )
    rng = np.random.default_rng(random_state)
    early = [place for place in places if place[1] == 1]
    late = [place for place in places if place[1] != 1]
    drawn = []
    for among, many in ((early, first_round), (late, posts - first_round)):
        chosen = rng.permutation(len(among))[:many]
        drawn += [among[k] for k in chosen]
    meant: defaultdict[Place, set[tuple[str, ...]]] = defaultdict(set)
    found: defaultdict[Place, set[tuple[str, ...]]] = defaultdict(set)
    for room, round, seat, *directive in log.rows("SELECT * FROM intents"):
        meant[room, round, seat].add(tuple(directive))
    for room, round, seat, *directive in log.rows(
        "SELECT d.room, d.round, d.seat, s.name, d.kind, d.target FROM directives d "
        "JOIN seats s ON s.room = d.room AND s.seat = d.teammate WHERE d.tagger = ?",
        [tagger],
    ):
        found[room, round, seat].add(tuple(directive))
    return Check(
        posts=len(drawn),
        with_directives=sum(bool(meant[place]) for place in drawn),
        meant=sum(len(meant[place]) for place in drawn),
        tagged=sum(len(found[place]) for place in drawn),
        both=sum(len(meant[place] & found[place]) for place in drawn),
    )


def leaders_of(log: Log, tagger: str, schedule: str) -> set[tuple[str, int]]:
    """(room, seat) of the leaders by the published rule, empty when they were not attributed."""
    rows = log.rows(
        "SELECT room, seat FROM leaders WHERE tagger = ? AND schedule = ? AND rule = 'published'",
        [tagger, schedule],
    )
    return {(room, seat) for room, seat in rows}
