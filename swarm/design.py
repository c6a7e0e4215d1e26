"""From a study to its rooms: who sits where, in which world, in which order of names.

The published design crosses worlds with rotations: in rotation r, name i sits in slot
(i + r) mod n and plays model slot mod m, so every name plays every model equally often. The order
in which the system prompt lists the names is a factor of its own. The Williams design replaces
rotations by the rows of a Williams square, where each name stands in each position once and each
ordered pair of neighbours occurs once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from swarm.streams import seed_of, stream

NameOrder = Literal["forward", "reversed", "williams", "shuffled"]


@dataclass(frozen=True, slots=True)
class RoomSpec:
    """All that decides a room, except the replies.

    Attributes
    ----------
    room : str
        Id, world and rotation: ``w035_r2``.
    world, rotation : int
        Rooms of one world share its outages and its list of changes.
    seed, world_seed : int
        Roots of the room's and the world's random streams.
    names, models : tuple of str
        By seat.
    listed : tuple of str
        The names in the order in which the system prompt gives them.
    settings : pydantic model
        The scenario's settings.
    retries : int
        How often an unreadable reply is asked for again.
    """

    room: str
    world: int
    rotation: int
    seed: int
    world_seed: int
    names: tuple[str, ...]
    models: tuple[str, ...]
    listed: tuple[str, ...]
    settings: object
    retries: int


def room_id(world: int, rotation: int) -> str:
    """``w035_r2`` for world 35, rotation 2."""
    return f"w{world:03d}_r{rotation}"


def williams_row(size: int, row: int) -> tuple[int, ...]:
    """Row `row` of the Williams square of even `size`: who stands in each position.

    References
    ----------
    E. J. Williams (1949), Experimental designs balanced for the estimation of residual effects of
    treatments. Australian Journal of Chemistry 2(2), 149-168.

    Examples
    --------
    >>> williams_row(8, 0)
    (0, 1, 7, 2, 6, 3, 5, 4)
    """
    base = [0] + [k // 2 + 1 if k % 2 == 0 else size - (k // 2 + 1) for k in range(size - 1)]
    return tuple((b + row) % size for b in base)


def rooms_of(
    *,
    rooms: int,
    seed: int,
    names: Sequence[str],
    models: Sequence[str],
    held: dict[str, str],
    order: NameOrder,
    settings: object,
    retries: int,
) -> Iterator[RoomSpec]:
    """The first `rooms` rooms of the design, world after world.

    Parameters
    ----------
    names, models : sequence of str
        One name a seat; models are shared evenly, so their number divides the number of names.
    held : dict
        Name to model for seats that always hold one model, whatever the rotation.
    """
    size = len(names)
    relabel_names = stream(seed, "design", "names").sample(range(size), size)
    relabel_models = stream(seed, "design", "models").sample(range(len(models)), len(models))
    for number in range(rooms):
        world, rotation = divmod(number, size)
        if order == "williams":
            row = williams_row(size, rotation)
            places = [relabel_names[k] for k in row]
            listed = tuple(names[k] for k in places)
            by_seat = {
                seat: models[relabel_models[(rotation + column + world) % len(models)]]
                for column, seat in enumerate(places)
            }
        else:
            listed = _listed(names, order, seed, number)
            by_seat = {i: models[(i + rotation) % size % len(models)] for i in range(size)}
        yield RoomSpec(
            room=room_id(world, rotation),
            world=world,
            rotation=rotation,
            seed=seed_of(seed, "room", number),
            world_seed=world_seed(seed, world),
            names=tuple(names),
            models=tuple(held.get(name, by_seat[i]) for i, name in enumerate(names)),
            listed=listed,
            settings=settings,
            retries=retries,
        )


def world_seed(seed: int, world: int) -> int:
    """The seed of a world under the study's seed."""
    return seed_of(seed, "world", world)


def _listed(names: Sequence[str], order: NameOrder, seed: int, number: int) -> tuple[str, ...]:
    if order == "reversed":
        return tuple(reversed(names))
    if order == "shuffled":
        return tuple(stream(seed, "design", "listed", number).sample(list(names), len(names)))
    return tuple(names)
