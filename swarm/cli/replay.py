"""``replay``: followed decisions, asked again."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import (
    ENVIRONMENT,
    budget,
    jobs,
    log_file,
    price_unknown,
    processes,
    schedule,
    tagger,
)


@click.command(epilog=f"Example: python -m swarm replay trial.duckdb. {ENVIRONMENT}")
@log_file
@tagger
@schedule
@budget
@price_unknown
@jobs
def command(
    file: Path,
    tagger: str,
    schedule: str,
    budget_usd: float | None,
    price_unknown_ok: bool,
    jobs: int | None,
) -> None:
    """Ask the followed decisions of FILE again, with and without the post that asked for them."""
    from replays.replaying import replay_study
    from swarm.log.store import Log
    from swarm.models.gateway import Spending
    from swarm.pool import Workers

    with Log.open(file) as log, Workers(processes(jobs)) as workers:
        spending = Spending(budget_usd, price_unknown_ok)
        replay_study(log, workers, tagger=tagger, schedule=schedule, spending=spending)
        held = log.value("SELECT count(*) FROM replays")
    click.echo(f"{held} replays in {file}")
