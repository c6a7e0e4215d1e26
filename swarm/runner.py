"""Plays the rooms of a study: surrogates in processes, live models on one event loop.

What is finished is in the log, so running again plays what is missing. Rooms of surrogates are
logged whole; rooms with a live model turn by turn, and go on from the last turn that was logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from swarm.design import RoomSpec
from swarm.log.store import Log, Writer
from swarm.log.tables import Batch, batch_of
from swarm.models import models_for
from swarm.models.base import Model
from swarm.models.recorded import Missing, records_of
from swarm.pool import Workers
from swarm.progress import progress
from swarm.room import Record, play_room
from swarm.scenario import Rows, scenario_named

ROOMS_PER_JOB = 8
ROOMS_IN_FLIGHT = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    scenario: str
    specs: tuple[RoomSpec, ...]


def chunked(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """`items` in tuples of `size`, the last one shorter."""
    rest = iter(items)
    while chunk := tuple(islice(rest, size)):
        yield chunk


def play_study(log: Log, workers: Workers) -> None:
    """Play every room of the log's study that is not finished.

    Raises
    ------
    ModelError
        When a model is unknown, or a live one stops answering.
    WorkerDied
        When a worker process ends without an answer.
    """
    study = log.study
    finished = {room for (room,) in log.rows("SELECT room FROM outcomes")}
    if len(finished) == study.rooms:
        return
    models = models_for(study.game, study.all_models)
    todo = (spec for spec in study.specs() if spec.room not in finished)
    with Writer(log) as writer, progress("play", total=study.rooms, done=len(finished)) as bar:
        if all(model.surrogate for model in models.values()):
            jobs = (_Job(study.scenario, specs) for specs in chunked(todo, ROOMS_PER_JOB))
            for batch in workers.spread(_play_job, jobs):
                writer.put(batch)
                bar.update(batch["outcomes"].num_rows)
        else:
            asyncio.run(_play_live(log, list(todo), models, writer, bar.update))


def _play_job(job: _Job) -> Batch:
    """Play rooms of surrogates, whole, in a worker process."""
    scenario = scenario_named(job.scenario)
    rows: Rows = {}

    def keep(more: Rows) -> None:
        for table, given in more.items():
            rows.setdefault(table, []).extend(given)

    async def play() -> None:
        for spec in job.specs:
            models = models_for(scenario, spec.models)
            await play_room(scenario, spec, models, sink=keep)

    asyncio.run(play())
    return batch_of(rows)


async def _play_live(
    log: Log,
    specs: list[RoomSpec],
    models: dict[str, Model],
    writer: Writer,
    advance: Callable[[int], Any],
) -> None:
    """Play rooms with live models, many at once, each turn logged when it took effect."""
    records = records_of(log, [spec.room for spec in specs])
    todo = iter(specs)

    async def play_on() -> None:
        for spec in todo:
            record = records.get(spec.room, {})
            await play_room(
                log.study.game, spec, models, record=record, sink=_new_only(writer, record)
            )
            advance(1)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(ROOMS_IN_FLIGHT, len(specs))):
                group.create_task(play_on())
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None  # the first one stopped the others


def _new_only(writer: Writer, record: Record) -> Callable[[Rows], None]:
    """A sink that drops what a fed turn logged before: all rows of a turn share (round, seat)."""
    place = {"turns": (1, 3), "filings": (1, 3), "outcomes": None, "blocks": None}

    def sink(rows: Rows) -> None:
        fresh: Rows = {}
        for table, given in rows.items():
            at = place.get(table, (1, 2))
            kept = given if at is None else [r for r in given if (r[at[0]], r[at[1]]) not in record]
            if kept:
                fresh[table] = kept
        writer.put(batch_of(fresh))

    return sink


def replayed_rows(log: Log, spec: RoomSpec) -> Rows:
    """What the log should hold of a finished room, derived by playing its record again.

    Raises
    ------
    LookupError
        When the room asks for a reply that the log does not hold.
    """
    rows: Rows = {}

    def keep(more: Rows) -> None:
        for table, given in more.items():
            rows.setdefault(table, []).extend(given)

    record = records_of(log, [spec.room]).get(spec.room, {})
    models: dict[str, Model] = {name: Missing(name) for name in spec.models}
    asyncio.run(play_room(log.study.game, spec, models, record=record, sink=keep))
    return rows
