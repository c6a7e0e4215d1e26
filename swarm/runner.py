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
from swarm.log.store import Log
from swarm.log.tables import Batch, batch_of
from swarm.log.writer import Writer
from swarm.models import models_for
from swarm.models.base import Model
from swarm.models.gateway import Gateway, Spending
from swarm.models.recorded import Missing, records_of
from swarm.pool import Workers
from swarm.progress import progress
from swarm.room import Record, play_room
from swarm.scenario import Rows, scenario_named
from swarm.tasks import all_of

ROOMS_PER_JOB = 8
ROOMS_IN_FLIGHT = 200
"""Live rooms at once; how many calls are at once is the gateway's to find out."""

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


def play_study(log: Log, workers: Workers, spending: Spending | None = None) -> None:
    """Play every room of the log's study that is not finished.

    Parameters
    ----------
    spending : Spending, optional
        What live models may cost.

    Raises
    ------
    ModelError
        When a live model is unknown, has no price, stops answering, or the budget is exhausted.
    WorkerDied
        When a worker process ends without an answer.
    """
    study = log.study
    finished = {room for (room,) in log.rows("SELECT room FROM outcomes")}
    if len(finished) == study.rooms:
        return
    todo = (spec for spec in study.specs() if spec.room not in finished)
    with Writer(log) as writer, progress("play", total=study.rooms, done=len(finished)) as bar:
        if not study.live_models:
            jobs = (_Job(study.scenario, specs) for specs in chunked(todo, ROOMS_PER_JOB))
            for batch in workers.spread(_play_job, jobs):
                writer.put(batch)
                bar.update(batch["outcomes"].num_rows)
        else:
            asyncio.run(_play_live(log, list(todo), writer, spending, bar))


def _kept_whole() -> tuple[Rows, Callable[[Rows], None]]:
    """Rows, and a sink that adds a room's to them."""
    rows: Rows = {}

    def keep(more: Rows) -> None:
        for table, given in more.items():
            rows.setdefault(table, []).extend(given)

    return rows, keep


def _play_job(job: _Job) -> Batch:
    """Play rooms of surrogates, whole, in a worker process."""
    scenario = scenario_named(job.scenario)
    rows, keep = _kept_whole()

    async def play() -> None:
        for spec in job.specs:
            models = models_for(scenario, spec.models)
            await play_room(scenario, spec, models, sink=keep)

    asyncio.run(play())
    return batch_of(rows)


async def _play_live(
    log: Log,
    specs: list[RoomSpec],
    writer: Writer,
    spending: Spending | None,
    bar: Any,
) -> None:
    """Play rooms with live models, many at once, each turn logged when it took effect."""
    study = log.study
    records = records_of(log, [spec.room for spec in specs])
    todo = iter(specs)
    async with gateway_of(log, writer, spending) as gateway:
        models = models_for(study.game, study.all_models, live=gateway.models)
        finished = 0

        async def play_on() -> None:
            nonlocal finished
            for spec in todo:
                record = records.get(spec.room, {})
                sink = _new_only(writer, record)
                await play_room(study.game, spec, models, record=record, sink=sink)
                finished += 1
                bar.update(1)
                bar.set_postfix_str(gateway.money(done=finished, left=len(specs) - finished))

        await all_of(play_on() for _ in range(min(ROOMS_IN_FLIGHT, len(specs))))


def gateway_of(log: Log, writer: Writer, spending: Spending | None) -> Gateway:
    """The gateway to the live models of the log's study."""
    study = log.study
    schema = study.game.reply_schema(study.room_settings)
    return Gateway(log, writer, study.live_models, schema=schema, spending=spending)


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
        writer.put_rows(fresh)

    return sink


def replayed_rows(log: Log, spec: RoomSpec, record: Record | None = None) -> Rows:
    """What the log should hold of a finished room, derived by playing its record again.

    Parameters
    ----------
    record : Record, optional
        The room's replies, when they have been read already.

    Raises
    ------
    LookupError
        When the room asks for a reply that the log does not hold.
    """
    rows, keep = _kept_whole()

    if record is None:
        record = records_of(log, [spec.room]).get(spec.room, {})
    models: dict[str, Model] = {name: Missing(name) for name in spec.models}
    asyncio.run(play_room(log.study.game, spec, models, record=record, sink=keep))
    return rows
