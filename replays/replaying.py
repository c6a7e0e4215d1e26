"""The replay stage: asks decisions' turns again and logs what comes.

A replay's prompt is the logged list of blocks, minus the post's; nothing is rendered. Its seed
comes from a stream of its own, named by the turn, the post taken out and the replicate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from replays.decisions import UNTOUCHED, Decision, Setting, followed, settings_of
from replays.schedule import missing, schedule_named
from swarm.errors import UsageError
from swarm.log.store import Log, Writer
from swarm.log.tables import Batch, batch_of
from swarm.models import models_for
from swarm.models.base import Model
from swarm.pool import Workers
from swarm.progress import progress
from swarm.runner import chunked
from swarm.scenario import Scenario, scenario_named
from swarm.streams import seed_of
from swarm.turn import hear

REPLAYS_PER_JOB = 256
IN_FLIGHT = 64


@dataclass(frozen=True, slots=True)
class _Job:
    scenario: str
    settings: Any
    retries: int
    replays: tuple[tuple[Decision, int, Setting], ...]


def replay_study(log: Log, workers: Workers, *, tagger: str, schedule: str) -> None:
    """Run every replay that `schedule` wants of the directives that `tagger` found.

    Raises
    ------
    UsageError
        When the schedule is unknown, or the tagger has not been through every finished room.
    """
    plan = schedule_named(schedule)
    require_tagged(log, tagger)
    decisions = followed(log, tagger)
    total = sum(1 for _ in plan.wanted(decisions))
    todo = missing(log, plan, decisions)
    if not todo:
        return
    models = models_for(log.study.game, log.study.all_models)
    jobs = _jobs(log, todo)
    with (
        Writer(log) as writer,
        progress("replay", total=total, done=total - len(todo), unit="replay") as bar,
    ):
        if all(model.surrogate for model in models.values()):
            for batch in workers.spread(_replay_job, jobs):
                writer.put(batch)
                bar.update(batch["replays"].num_rows)
        else:
            asyncio.run(_replay_live(jobs, log.study.game, models, writer, bar))


def require_tagged(log: Log, tagger: str) -> None:
    """See that `tagger` has been through every finished room.

    Raises
    ------
    UsageError
        When it has not, or when no room is finished.
    """
    finished, tagged = log.rows(
        "SELECT (SELECT count(*) FROM outcomes), (SELECT count(*) FROM tagged WHERE tagger = ?)",
        [tagger],
    )[0]
    if not finished:
        raise UsageError(f"{log.path} holds no finished room; `python -m swarm run` plays them")
    if tagged < finished:
        raise UsageError(
            f"{finished - tagged} of {finished} rooms in {log.path} are not tagged by {tagger!r}; "
            f"run `python -m swarm tag {log.path} --tagger {tagger}` first"
        )


def _jobs(log: Log, todo: list[tuple[Decision, int]]) -> Iterator[_Job]:
    study = log.study
    for some in chunked(todo, REPLAYS_PER_JOB):
        turns = list(dict.fromkeys((d.room, d.round, d.seat) for d, _ in some))
        found = dict(settings_of(log, turns))
        yield _Job(
            study.scenario,
            study.room_settings,
            study.retries,
            tuple((d, i, found[d.room, d.round, d.seat]) for d, i in some),
        )


def _replay_job(job: _Job) -> Batch:
    """Replay decisions of surrogates, in a worker process."""
    scenario = scenario_named(job.scenario)
    models = models_for(scenario, {setting.model for _, _, setting in job.replays})

    async def replay() -> list[tuple[Any, ...]]:
        return [
            await _replay(scenario, job, decision, replicate, setting, models[setting.model])
            for decision, replicate, setting in job.replays
        ]

    return batch_of({"replays": asyncio.run(replay())})


async def _replay_live(
    jobs: Iterator[_Job], scenario: Scenario, models: dict[str, Model], writer: Writer, bar: Any
) -> None:
    """Replay decisions with live models, many at once, each logged when it is there."""
    todo = ((job, *one) for job in jobs for one in job.replays)

    async def replay_on() -> None:
        for job, decision, replicate, setting in todo:
            row = await _replay(scenario, job, decision, replicate, setting, models[setting.model])
            writer.put(batch_of({"replays": [row]}))
            bar.update(1)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(replay_on())
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None  # the first one stopped the others


async def _replay(
    scenario: Scenario,
    job: _Job,
    decision: Decision,
    replicate: int,
    setting: Setting,
    model: Model,
) -> tuple[Any, ...]:
    """One replay as its row of the log."""
    prompt = setting.prompt
    if decision.removed != UNTOUCHED:
        prompt = prompt.without({decision.removed})

    def seed(attempt: int) -> int:
        return seed_of(
            setting.seed,
            "replay",
            decision.round,
            decision.seat,
            str(decision.removed),
            replicate,
            attempt,
        )

    heard = await hear(model, prompt, seed=seed, retries=job.retries)
    query, file = scenario.decided(job.settings, heard.reading.fields)
    reply = heard.reply
    return (
        decision.room,
        decision.round,
        decision.seat,
        decision.removed,
        replicate,
        seed(0),
        1 + len(heard.discarded),
        heard.reading.status,
        query,
        file,
        reply.text,
        reply.reasoning,
        reply.tokens_in,
        reply.tokens_out,
        reply.cost,
        heard.seconds,
    )
