"""Progress on everything that takes longer than two seconds, and silence when nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm


@contextmanager
def progress(title: str, *, total: int, done: int = 0, unit: str = "room") -> Iterator[tqdm[Any]]:
    """A bar on standard error with rate and time left; nothing when that is no terminal."""
    bar: tqdm[Any] = tqdm(
        desc=f"{title:<10}",
        total=total,
        initial=done,
        unit=unit,
        unit_scale=unit == "call" or total >= 100_000,
        delay=2,
        leave=False,
        disable=not sys.stderr.isatty(),
        dynamic_ncols=True,
    )
    with bar:
        yield bar
