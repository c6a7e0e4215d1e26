"""``replay``: followed decisions, asked again."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, jobs, log_file, processes, schedule, tagger


@click.command(epilog=f"Example: python -m swarm replay trial.duckdb. {ENVIRONMENT}")
@log_file
@tagger
@schedule
@jobs
def command(file: Path, tagger: str, schedule: str, jobs: int | None) -> None:
    """Ask the followed decisions of FILE again, with and without the post that asked for them."""
    from replays.replaying import replay_study
    from swarm.log.store import Log
    from swarm.pool import Workers

    with Log.open(file) as log, Workers(processes(jobs)) as workers:
        replay_study(log, workers, tagger=tagger, schedule=schedule)
        held = log.value("SELECT count(*) FROM replays")
    click.echo(f"{held} replays in {file}")
