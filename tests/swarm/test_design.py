"""The design is balanced: every name plays every model, and the list of names is a factor."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from swarm.design import NameOrder, RoomSpec, rooms_of, williams_row

NAMES = tuple("ABCDEFGH")
MODELS = ("m0", "m1", "m2", "m3")
ORDERS: tuple[NameOrder, ...] = ("forward", "reversed", "williams", "shuffled")


def design(
    rooms: int = 64,
    order: NameOrder = "forward",
    seed: int = 1,
    models: tuple[str, ...] = MODELS,
    held: dict[str, str] | None = None,
) -> list[RoomSpec]:
    return list(
        rooms_of(
            rooms=rooms,
            seed=seed,
            names=NAMES,
            models=models,
            held=held or {},
            order=order,
            settings=None,
            retries=1,
        )
    )


def played(rooms: list[RoomSpec]) -> Counter[tuple[str, str]]:
    """How often each name plays each model."""
    return Counter(pair for room in rooms for pair in zip(room.names, room.models, strict=True))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("models", [MODELS, MODELS[:2], MODELS[:1]], ids=len)
def test_in_eight_rotations_every_name_plays_every_model_equally_often(
    order: NameOrder, models: tuple[str, ...]
) -> None:
    rooms = design(24, order, models=models)
    for world in range(3):
        counts = played(rooms[8 * world : 8 * world + 8])
        assert set(counts.values()) == {8 // len(models)}
        assert len(counts) == 8 * len(models)


@pytest.mark.parametrize("order", ORDERS)
def test_eight_models_are_balanced_over_eight_worlds(order: NameOrder) -> None:
    counts = played(design(64, order, models=tuple("stuvwxyz")))
    assert set(counts.values()) == {8}
    assert len(counts) == 64


@pytest.mark.parametrize("order", ORDERS)
def test_every_room_shares_its_seats_evenly_among_the_models(order: NameOrder) -> None:
    for room in design(24, order):
        assert set(Counter(room.models).values()) == {2}


def test_the_published_rotation() -> None:
    room = design(12)[11]
    assert (room.room, room.world, room.rotation) == ("w001_r3", 1, 3)
    assert room.models == ("m3", "m0", "m1", "m2", "m3", "m0", "m1", "m2")


def test_rooms_come_world_after_world_and_share_the_worlds_seed() -> None:
    rooms = design(24)
    assert [r.world for r in rooms] == [0] * 8 + [1] * 8 + [2] * 8
    assert [r.rotation for r in rooms] == [*range(8)] * 3
    assert len({r.room for r in rooms}) == 24
    assert len({r.seed for r in rooms}) == 24
    assert [len({r.world_seed for r in rooms if r.world == w}) for w in range(3)] == [1, 1, 1]
    assert len({r.world_seed for r in rooms}) == 3


@pytest.mark.parametrize("order", ORDERS)
def test_a_longer_study_begins_with_the_rooms_of_a_shorter_one(order: NameOrder) -> None:
    assert design(40, order)[:13] == design(13, order)


@pytest.mark.parametrize("order", ORDERS)
def test_a_seed_gives_one_design(order: NameOrder) -> None:
    assert design(16, order) == design(16, order)
    assert design(16, order, seed=2) != design(16, order)


@pytest.mark.parametrize("order", ORDERS)
def test_seats_keep_their_names_whatever_the_order_of_the_list(order: NameOrder) -> None:
    for room in design(16, order):
        assert room.names == NAMES
        assert sorted(room.listed) == sorted(NAMES)


def test_name_orders() -> None:
    assert {room.listed for room in design(16)} == {NAMES}
    assert {room.listed for room in design(16, "reversed")} == {NAMES[::-1]}
    shuffled = [room.listed for room in design(400, "shuffled")]
    assert len(set(shuffled)) > 395
    first = Counter(listed[0] for listed in shuffled)
    assert min(first[name] for name in NAMES) > 25  # 50 expected


@pytest.mark.parametrize("order", ["forward", "reversed", "shuffled"])
def test_the_order_of_the_list_moves_no_seat_and_no_seed(order: NameOrder) -> None:
    for room, other in zip(design(16), design(16, order), strict=True):
        assert (room.models, room.seed) == (other.models, other.seed)


@pytest.mark.parametrize("order", ORDERS)
def test_held_seats_keep_their_model(order: NameOrder) -> None:
    for room, free in zip(design(16, order, held={"C": "live"}), design(16, order), strict=True):
        assert room.models[2] == "live"
        assert room.models[:2] + room.models[3:] == free.models[:2] + free.models[3:]


def test_the_base_of_the_williams_square() -> None:
    assert williams_row(8, 0) == (0, 1, 7, 2, 6, 3, 5, 4)


@pytest.mark.parametrize("size", [2, 4, 8, 12])
def test_a_williams_row_reversed_is_the_row_half_the_square_on(size: int) -> None:
    for row in range(size):
        assert williams_row(size, row)[::-1] == williams_row(size, (row + size // 2) % size)


@pytest.mark.parametrize("size", [2, 4, 8, 12])
def test_a_williams_square_has_each_place_and_each_ordered_pair_of_neighbours_once(
    size: int,
) -> None:
    square = [williams_row(size, row) for row in range(size)]
    for line in (*square, *zip(*square, strict=True)):
        assert sorted(line) == list(range(size))
    neighbours = Counter(pair for row in square for pair in pairwise(row))
    assert len(neighbours) == size * (size - 1)
    assert set(neighbours.values()) == {1}


def test_the_williams_design_lists_names_by_its_square() -> None:
    for world in range(2):
        rooms = design(16, "williams")[8 * world : 8 * world + 8]
        for column in zip(*(room.listed for room in rooms), strict=True):
            assert sorted(column) == sorted(NAMES)
        neighbours = Counter(pair for room in rooms for pair in pairwise(room.listed))
        assert len(neighbours) == 56
        assert set(neighbours.values()) == {1}


def test_in_the_williams_design_every_place_holds_every_model_equally_often() -> None:
    held = Counter(
        (place, room.models[NAMES.index(name)])
        for room in design(8, "williams")
        for place, name in enumerate(room.listed)
    )
    assert set(held.values()) == {2}
    assert len(held) == 32
