"""``run``: the whole pipeline, on a new log or on from where an old one stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from swarm.cli.options import (
    ENVIRONMENT,
    abstain_below,
    budget,
    jobs,
    option,
    price_unknown,
    processes,
    schedule,
    tagger,
    tagger_api_base,
    tagger_model,
)


@click.command(
    epilog=f"Example: python -m swarm run --rooms 80 --seed 7 --out trial.duckdb. {ENVIRONMENT}"
)
@option("--rooms", type=int, metavar="N", help="Rooms to play. [default: 2160]")
@option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("swarm.duckdb"),
    metavar="FILE",
    help="The log, resumed if there. [default: swarm.duckdb]",
)
@option("--seed", type=int, metavar="N", help="Root of all randomness. [default: 1]")
@option("--study", type=click.Path(path_type=Path), metavar="FILE", help="Study file, TOML.")
@option("--models", metavar="A,B,..", help="Models that share the seats. [default: surrogates]")
@option("--model", multiple=True, metavar="NAME=SEAT,..", help="Give named seats one model.")
@option("--name-order", metavar="ORDER", help="forward, reversed, williams or shuffled.")
@option("--no-channel", is_flag=True, default=False, help="Play without the shared channel.")
@budget
@price_unknown
@jobs
@tagger
@tagger_model
@tagger_api_base
@abstain_below
@schedule
def command(
    rooms: int | None,
    out: Path,
    seed: int | None,
    study: Path | None,
    models: str | None,
    model: tuple[str, ...],
    name_order: str | None,
    no_channel: bool,
    budget_usd: float | None,
    price_unknown_ok: bool,
    jobs: int | None,
    tagger: str,
    tagger_model: str | None,
    tagger_api_base: str | None,
    abstain_below: float | None,
    schedule: str,
) -> None:
    """Play rooms, tag, replay, attribute and report; goes on where it stopped."""
    from analysis.influence import attribute
    from analysis.report import write_report
    from classifiers.directives import tagger_named
    from classifiers.tagging import tag_study
    from replays.replaying import replay_study
    from replays.schedule import schedule_named
    from swarm.log.store import Log
    from swarm.models import check_models
    from swarm.models.gateway import Spending
    from swarm.pool import Workers
    from swarm.runner import play_study
    from swarm.study import load_study

    overrides: dict[str, Any] = {
        "rooms": rooms,
        "seed": seed,
        "name_order": name_order,
        "lineup": tuple(m.strip() for m in models.split(",")) if models else None,
        "seats": _seats(model),
        "room": {"channel": False} if no_channel else {},
    }
    wanted = load_study(study, overrides)
    spending = Spending(budget_usd, price_unknown_ok)
    remote: dict[str, Any] = {"model": tagger_model, "api_base": tagger_api_base}
    tagger_named(tagger, models=wanted.models, **remote).check()
    schedule_named(schedule)
    check_models(wanted)
    with Log.open_or_create(out, wanted) as log, Workers(processes(jobs)) as workers:
        play_study(log, workers, spending)
        tag_study(log, workers, tagger, abstain_below=abstain_below, spending=spending, **remote)
        replay_study(log, workers, tagger=tagger, schedule=schedule, spending=spending)
        attribute(log, tagger=tagger, schedule=schedule)
        click.echo(write_report(log, tagger=tagger, schedule=schedule))


def _seats(given: tuple[str, ...]) -> dict[str, str]:
    seats = {}
    for text in given:
        model, _, names = text.rpartition("=")
        if not model or not names:
            raise click.UsageError(f"--model {text!r}: give it as NAME=SEAT, e.g. openai/x=Ada,Bo")
        seats.update({name.strip(): model.strip() for name in names.split(",")})
    return seats
