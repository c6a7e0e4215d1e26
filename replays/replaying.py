"""The replay stage: asks decisions' turns again and logs what comes.

A replay's prompt is the logged list of blocks, minus the post's; nothing is rendered. Its seed
comes from a stream of its own, named by the turn, the post taken out and the replicate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from replays.decisions import UNTOUCHED, Decision, Setting, followed, settings_of
from replays.schedule import missing, schedule_named
from swarm.errors import UsageError
from swarm.log.store import Log
from swarm.log.tables import Batch, batch_of
from swarm.log.writer import Writer
from swarm.models import models_for
from swarm.models.base import Draw, Model
from swarm.models.gateway import Spending
from swarm.pool import Workers
from swarm.progress import progress
from swarm.runner import chunked, gateway_of
from swarm.scenario import Scenario, scenario_named
from swarm.streams import seed_of
from swarm.tasks import all_of
from swarm.turn import hear

REPLAYS_PER_JOB = 1024
IN_FLIGHT = 200


@dataclass(frozen=True, slots=True)
class _Job:
    scenario: str
    settings: Any
    retries: int
    replays: tuple[tuple[Decision, int, Setting], ...]


def replay_study(
    log: Log,
    workers: Workers,
    *,
    tagger: str,
    schedule: str,
    spending: Spending | None = None,
) -> None:
    """Run every replay that `schedule` wants of the directives that `tagger` found.

    Raises
    ------
    UsageError
        When the schedule is unknown, or the tagger has not been through every finished room; for
        live models also as `swarm.runner.play_study`.
    """
    plan = schedule_named(schedule)
    require_tagged(log, tagger)
    decisions = followed(log, tagger)
    total = sum(1 for _ in plan.wanted(decisions))
    lacking = sum(1 for _ in missing(log, plan, decisions))
    if not lacking:
        return
    jobs = _jobs(log, missing(log, plan, decisions))
    with (
        Writer(log) as writer,
        progress("replay", total=total, done=total - lacking, unit="replay") as bar,
    ):
        if not log.study.live_models:
            for batch in workers.spread(_replay_job, jobs):
                writer.put(batch)
                bar.update(batch["replays"].num_rows)
        else:
            asyncio.run(_replay_live(log, jobs, writer, spending, bar, lacking))


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


def _jobs(log: Log, todo: Iterable[tuple[Decision, int]]) -> Iterator[_Job]:
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
    log: Log,
    jobs: Iterator[_Job],
    writer: Writer,
    spending: Spending | None,
    bar: Any,
    lacking: int,
) -> None:
    """Replay decisions with live models, many at once, each logged when it is there."""
    game = log.study.game
    todo = ((job, *one) for job in jobs for one in job.replays)
    async with gateway_of(log, writer, spending) as gateway:
        models = models_for(game, log.study.all_models, live=gateway.models)

        done = 0

        async def replay_on() -> None:
            nonlocal done
            for job, decision, replicate, setting in todo:
                model = models[setting.model]
                row = await _replay(game, job, decision, replicate, setting, model)
                writer.put_rows({"replays": [row]})
                bar.update(1)
                done += 1
                bar.set_postfix_str(gateway.money(done=done, left=lacking - done))

        await all_of(replay_on() for _ in range(IN_FLIGHT))


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

    draw = Draw(
        "replay",
        decision.room,
        decision.round,
        decision.seat,
        decision.removed,
        replicate,
    )
    heard = await hear(model, prompt, seed=seed, draw=draw, retries=job.retries)
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
