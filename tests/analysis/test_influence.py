"""The published rule, on units written by hand, by enumeration of chance, and on a played log.

By hand: what makes a leader. By enumeration: what two and two replays give when nobody influences
anybody, which has exact values. On a log: every number again in plain Python, from the replays
themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.influence import Leader, Unit, attribute, leaders_of, units_of
from replays.schedule import SCHEDULES
from swarm.errors import UsageError
from swarm.log.store import Log
from swarm.study import Study

PUBLISHED = SCHEDULES["published"]


def unit(
    author: int, follower: int, x_with: int, x_without: int, *, room: str = "a", round: int = 1
) -> Unit:
    """A followed directive of which so many of two replays, with and without, did it."""
    return Unit(room, round, author, follower, "query", "cart", round + 1, 2, x_with, 2, x_without)


def led(
    *units: Unit, mirror: bool = False, plans: frozenset[tuple[str, int]] = frozenset()
) -> list[Leader]:
    """The leaders that the rule finds."""
    return leaders_of(units, mirror=mirror, round1_plans=plans)


# Units


@pytest.mark.parametrize(
    ("x_with", "x_without", "weight", "mirrored"),
    [(2, 0, 1, 0), (1, 0, 0.5, 0), (2, 1, 0.5, 0), (1, 1, 0, 0), (0, 2, 0, 1), (0, 1, 0, 0.5)],
)
def test_a_weight_is_what_the_post_adds_and_never_negative(
    x_with: int, x_without: int, weight: float, mirrored: float
) -> None:
    one = unit(0, 1, x_with, x_without)
    assert (one.a, one.b) == (x_with / 2, x_without / 2)
    assert (one.weight, one.mirror_weight) == (weight, mirrored)


def test_shares_are_of_the_arms_own_replays() -> None:
    one = replace(unit(0, 1, 3, 1), n_with=4, n_without=8)
    assert (one.a, one.b, one.weight) == (0.75, 0.125, 0.625)


# Leaders


def test_a_total_of_exactly_two_is_enough() -> None:
    assert led(unit(3, 0, 2, 0), unit(3, 1, 2, 0)) == [Leader("published", "a", 3, 2.0, 2, False)]
    assert led(unit(3, 0, 2, 0), unit(3, 1, 2, 1)) == []
    halves = [unit(3, follower, 2, 1) for follower in range(3)]
    assert led(*halves) == []
    assert [x.total for x in led(*halves, unit(3, 4, 1, 0))] == [2.0]


def test_the_largest_total_leads_and_nobody_else() -> None:
    small = [unit(1, 0, 2, 0), unit(1, 2, 2, 0)]
    large = [unit(5, 0, 2, 0), unit(5, 2, 2, 0), unit(5, 3, 1, 0)]
    assert [(x.seat, x.total, x.followers) for x in led(*small, *large)] == [(5, 2.5, 3)]


def test_a_shared_largest_total_leaves_the_room_without_a_leader() -> None:
    one = [unit(1, 0, 2, 0), unit(1, 2, 2, 0)]
    other = [unit(5, 0, 2, 0), unit(5, 2, 2, 0)]
    assert led(*one, *other) == []
    assert [x.seat for x in led(*one, *other, unit(0, 3, 1, 0))] == []
    assert [x.seat for x in led(*one, *other, unit(5, 3, 1, 0))] == [5]


def test_a_follower_that_follows_twice_is_one_follower() -> None:
    twice = [unit(3, 0, 2, 0), unit(3, 0, 2, 0, round=4)]
    assert led(*twice) == []
    assert [(x.total, x.followers) for x in led(*twice, unit(3, 1, 1, 0))] == [(2.5, 2)]


def test_whoever_follows_without_weight_is_no_follower() -> None:
    one = [unit(3, 0, 2, 0), unit(3, 0, 2, 0, round=2)]
    assert led(*one, unit(3, 1, 2, 2), unit(3, 2, 0, 1)) == []


def test_what_an_agent_loses_is_not_taken_from_its_total() -> None:
    assert [x.total for x in led(unit(3, 0, 2, 0), unit(3, 1, 2, 0), unit(3, 2, 0, 2))] == [2.0]


def test_rooms_are_judged_apart_and_come_in_order() -> None:
    units = [unit(3, f, 2, 0, room=room) for f in (0, 1) for room in ("b", "a")]
    assert [(x.room, x.seat) for x in led(*units)] == [("a", 3), ("b", 3)]
    assert led(unit(3, 0, 2, 0, room="a"), unit(3, 1, 2, 0, room="b")) == []


def test_mirror_leaders_are_the_leaders_with_the_arms_exchanged() -> None:
    units = [unit(3, 0, 0, 2), unit(3, 1, 0, 2), unit(1, 0, 2, 0), unit(1, 2, 2, 0)]
    assert [(x.rule, x.seat) for x in led(*units)] == [("published", 1)]
    assert [(x.rule, x.seat) for x in led(*units, mirror=True)] == [("mirror", 3)]


def test_a_round_1_leader_planned_in_round_1_and_moves_somebody_by_it() -> None:
    early = [unit(3, 0, 2, 0), unit(3, 1, 2, 0)]
    late = [unit(3, 0, 2, 0, round=4), unit(3, 1, 2, 0, round=4)]
    planned = frozenset({("a", 3)})
    assert [x.round1 for x in led(*early, plans=planned)] == [True]
    assert [x.round1 for x in led(*early)] == [False]
    assert [x.round1 for x in led(*early, plans=frozenset({("a", 2), ("b", 3)}))] == [False]
    assert [x.round1 for x in led(*late, plans=planned)] == [False]
    assert [x.round1 for x in led(*late, unit(3, 2, 1, 1), plans=planned)] == [False]
    assert [x.round1 for x in led(*late, unit(3, 2, 1, 0), plans=planned)] == [True]


counts = st.integers(0, 2)
some_units = st.lists(
    st.builds(
        unit, st.integers(0, 3), st.integers(4, 7), counts, counts, room=st.sampled_from("ab")
    ),
    max_size=14,
)


@given(some_units, st.randoms(use_true_random=False))
def test_leaders_depend_on_no_order_and_are_mirrored_by_exchanging_the_arms(
    units: list[Unit], shuffler: object
) -> None:
    mixed = list(units)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    assert led(*mixed) == led(*units)
    swapped = [replace(u, x_with=u.x_without, x_without=u.x_with) for u in units]
    assert [replace(x, rule="mirror") for x in led(*units)] == led(*swapped, mirror=True)
    for leader in led(*units):
        mine = [u for u in units if (u.room, u.seat) == (leader.room, leader.seat)]
        totals = Counter[int]()
        for u in units:
            totals[u.seat] += 2 * u.weight if u.room == leader.room else 0  # type: ignore[assignment]
        assert leader.total == sum(u.weight for u in mine) >= 2
        assert leader.followers == len({u.teammate for u in mine if u.weight > 0}) >= 2
        assert all(2 * leader.total > n for seat, n in totals.items() if seat != leader.seat)


# What chance alone gives


def outcomes(p: float) -> list[tuple[int, int, float]]:
    """(x with, x without, probability) of two and two replays that each do it with p."""
    chance = [comb(2, x) * p**x * (1 - p) ** (2 - x) for x in range(3)]
    return [(x, y, chance[x] * chance[y]) for x in range(3) for y in range(3)]


NULL = {0.1: (0.082, 0.156), 0.2: (0.134, 0.243), 0.3: (0.166, 0.288), 0.5: (0.188, 0.313)}


@pytest.mark.parametrize("p", NULL)
def test_the_mean_weight_under_no_influence_is_exact(p: float) -> None:
    mean = sum(chance * unit(0, 1, x, y).weight for x, y, chance in outcomes(p))
    assert mean == pytest.approx(p * (1 - p) * (1 - p * (1 - p)), abs=1e-12)
    assert mean == pytest.approx(NULL[p][0], abs=5.1e-4)
    mirrored = sum(chance * unit(0, 1, x, y).mirror_weight for x, y, chance in outcomes(p))
    assert mirrored == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("p", NULL)
def test_the_chance_of_a_weight_under_no_influence_is_exact(p: float) -> None:
    positive = sum(chance for x, y, chance in outcomes(p) if unit(0, 1, x, y).weight > 0)
    assert positive == pytest.approx(NULL[p][1], abs=6e-4)


CHANCE_LEADERS = {
    3: (0.0007, 0.0056, 0.0135, 0.0229),
    5: (0.0070, 0.0403, 0.0809, 0.119),
    7: (0.0244, 0.115, 0.203, 0.272),
}


@pytest.mark.parametrize("followers", CHANCE_LEADERS)
@pytest.mark.parametrize("place", range(4))
def test_the_chance_of_a_leader_under_no_influence_is_exact(followers: int, place: int) -> None:
    # Outcomes of a unit matter by their weight only, so one of each weight stands for its kind.
    kinds: dict[float, tuple[int, int, float]] = {}
    for x, y, chance in outcomes(list(NULL)[place]):
        weight = unit(0, 1, x, y).weight
        kinds[weight] = (x, y, chance + kinds.get(weight, (0, 0, 0.0))[2])
    found = 0.0
    for drawn in product(kinds.values(), repeat=followers):
        units = [unit(0, 1 + k, x, y) for k, (x, y, _) in enumerate(drawn)]
        probability = 1.0
        for _, _, chance in drawn:
            probability *= chance
        found += probability * len(led(*units))
    expected = CHANCE_LEADERS[followers][place]
    assert found == pytest.approx(expected, abs=6e-5 if expected < 0.1 else 6e-4)


# On a log


def by_hand(log: Log) -> list[Unit]:
    """The units of a log, from its replays, one directive at a time."""
    replays: dict[tuple[str, int, int, int], list[tuple[str | None, str | None]]] = {}
    for room, round, seat, removed, query, file in log.rows(
        "SELECT room, round, seat, removed, query, file FROM replays"
    ):
        replays.setdefault((room, round, seat, removed), []).append((query, file))
    posts = {row[:3]: row[3] for row in log.rows("SELECT room, round, seat, post_block FROM turns")}
    found = []
    for room, round, seat, mate, kind, target, decided in log.rows(
        "SELECT room, round, seat, teammate, kind, target, decision_round FROM follows"
    ):
        arms = [replays[room, decided, mate, r] for r in (0, posts[room, round, seat])]
        did = [sum(reply[kind == "file"] == target for reply in arm) for arm in arms]
        found.append(Unit(room, round, seat, mate, kind, target, decided, 2, did[0], 2, did[1]))
        assert [len(arm) for arm in arms] == [2, 2]
    return found


def test_units_are_the_followed_directives_with_their_replays(small_log: Log) -> None:
    units = units_of(small_log, tagger="rules", schedule=PUBLISHED)
    expected = by_hand(small_log)
    assert len(units) > 20
    assert Counter(units) == Counter(expected)
    assert {u.x_with for u in units} == {u.x_without for u in units} == {0, 1, 2}


def test_the_original_decision_is_in_neither_arm(small_log: Log) -> None:
    # Each directive was followed, so an arm with the original in it could not be empty.
    units = units_of(small_log, tagger="rules", schedule=PUBLISHED)
    assert any(u.x_with == 0 for u in units)
    assert any(u.x_without == 0 for u in units)


def test_attributed_tables_hold_the_units_and_the_leaders(small_log: Log) -> None:
    rows = small_log.rows(
        "SELECT room, round, seat, teammate, kind, target, decision_round, n_with, x_with, "
        "n_without, x_without, a, b, weight FROM influences"
    )
    units = by_hand(small_log)
    assert Counter(Unit(*row[:11]) for row in rows) == Counter(units)
    for row in rows:
        a, b = row[8] / row[7], row[10] / row[9]
        assert row[11:] == (a, b, max(0.0, a - b))
    planned = frozenset(small_log.rows("SELECT room, seat FROM plans WHERE round = 1"))
    leaders = small_log.rows("SELECT rule, room, seat, total, followers, round1 FROM leaders")
    assert Counter(Leader(*row) for row in leaders) == Counter(
        led(*units, plans=planned) + led(*units, mirror=True, plans=planned)
    )


def test_attributing_again_changes_nothing(small_log_path: Callable[..., Path]) -> None:
    def tables(log: Log) -> list[list[tuple[object, ...]]]:
        return [log.rows(f"SELECT * FROM {t} ORDER BY ALL") for t in ("influences", "leaders")]

    with Log.open(small_log_path()) as log:
        before = tables(log)
        attribute(log, tagger="rules", schedule="published")
        assert tables(log) == before


def test_what_is_missing_is_asked_for(small_log_path: Callable[..., Path], tmp_path: Path) -> None:
    with Log.open(small_log_path()) as log:
        log.con.execute("DELETE FROM replays WHERE replicate = 1 AND removed <> 0")
        with pytest.raises(UsageError, match=r"replays .* are missing .* swarm replay"):
            attribute(log, tagger="rules", schedule="published")
        with pytest.raises(UsageError, match="not tagged"):
            attribute(log, tagger="learned", schedule="published")
        with pytest.raises(UsageError, match="unknown schedule"):
            attribute(log, tagger="rules", schedule="endless")
    with (
        Log.open_or_create(tmp_path / "new.duckdb", Study(rooms=1)) as log,
        pytest.raises(UsageError, match="no finished room"),
    ):
        attribute(log, tagger="rules", schedule="published")
