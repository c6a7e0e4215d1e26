"""Several coroutines at once, none of which outlives the others' fault."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def all_of(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Results in order; the first fault stops the others and is raised, as itself, after they end.

    `asyncio.gather` would raise while the others go on, with a log that is closed under them.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    return [task.result() for task in tasks]
