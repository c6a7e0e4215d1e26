"""Named random streams.

Every random number in a room comes from a stream that is named by what it decides: ``world``,
``order``, ``seat 3 round 2``, ``replay 1``. A stream's seed depends on the room's seed and on the
stream's name only, so a draw added to one stream moves no other.
"""

from __future__ import annotations

import random
import zlib
from functools import lru_cache

import numpy as np

SEED_BITS = 31
"""Seeds fit a signed 32-bit integer, the widest `seed` that every provider takes."""


@lru_cache(maxsize=1024)
def _number(name: str) -> int:
    return zlib.crc32(name.encode())


def seed_of(seed: int, *name: str | int) -> int:
    """The seed of the stream called `name` under `seed`.

    Parameters
    ----------
    seed : int
        Non-negative seed of the study, world or room.
    *name : str or int
        What the stream decides, from general to particular, e.g. ``"seat", 3, "round", 2``.

    Returns
    -------
    int
        In [0, 2**31).

    Examples
    --------
    >>> seed_of(7, "order") == seed_of(7, "order")
    True
    >>> seed_of(7, "order") == seed_of(7, "world")
    False
    """
    key = tuple(_number(part) if isinstance(part, str) else part for part in name)
    state = np.random.SeedSequence(entropy=seed, spawn_key=key).generate_state(1, np.uint32)
    return int(state[0]) >> (32 - SEED_BITS)


def stream(seed: int, *name: str | int) -> random.Random:
    """A generator for the stream called `name`; same name, same draws (see `seed_of`)."""
    return random.Random(seed_of(seed, *name))
