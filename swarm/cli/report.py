"""``report``: the tables, on the terminal and as Markdown."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, log_file, option, schedule, tagger


@click.command(epilog=f"Example: python -m swarm report trial.duckdb --md trial.md. {ENVIRONMENT}")
@log_file
@tagger
@schedule
@option(
    "--md",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the Markdown goes. [default: report.md beside the log]",
)
def command(file: Path, tagger: str, schedule: str, md: Path | None) -> None:
    """Print the report of FILE, beside the published numbers, and write it as Markdown."""
    from analysis.report import write_report
    from swarm.log.store import Log

    with Log.open(file) as log:
        click.echo(write_report(log, tagger=tagger, schedule=schedule, markdown=md))
