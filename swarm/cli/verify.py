"""``verify``: a log checked against its own replies."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, log_file


@click.command(epilog=f"Example: python -m swarm verify trial.duckdb. {ENVIRONMENT}")
@log_file
def command(file: Path) -> None:
    """Play every finished room of FILE again from its replies and report any difference.

    Needs no model. Exit code 1 when anything differs.
    """
    from swarm.errors import RunError
    from swarm.log.store import Log
    from swarm.text import shown
    from swarm.verify import verify

    found = 0
    with Log.open(file) as log:
        rooms = log.value("SELECT count(*) FROM outcomes")
        for difference in verify(log):
            found += 1
            click.echo(shown(str(difference)))
    if found:
        raise RunError(f"{file}: {found} differences in {rooms} rooms")
    click.echo(f"{rooms} rooms follow from their replies: states, prompts, refusals, outcomes")
