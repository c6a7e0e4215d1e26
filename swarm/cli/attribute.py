"""``attribute``: weights and leaders, as a line or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, log_file, option, schedule, tagger


@click.command(epilog=f"Example: python -m swarm attribute trial.duckdb --json. {ENVIRONMENT}")
@log_file
@tagger
@schedule
@option("--json", "as_json", is_flag=True, default=False, help="Print all counts as JSON.")
def command(file: Path, tagger: str, schedule: str, as_json: bool) -> None:
    """Compute the weights and leaders of FILE from its replays."""
    from analysis.influence import attribute
    from analysis.summary import summary
    from swarm.log.store import Log

    with Log.open(file) as log:
        attribute(log, tagger=tagger, schedule=schedule)
        counts = summary(log, tagger=tagger, schedule=schedule)
    if as_json:
        click.echo(json.dumps(counts, indent=2, ensure_ascii=False))
        return
    agents = "surrogate agents" if "agents" in counts else "live models"
    click.echo(
        f"{counts['leaders']} leaders and {counts['mirror_leaders']} mirror leaders in "
        f"{counts['rooms']} rooms; {counts['positive_weights']} of {counts['followed']} followed "
        f"directives have weight ({agents})"
    )
