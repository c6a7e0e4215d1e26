"""``tag``: directives in the posts of a log."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, jobs, log_file, processes, tagger


@click.command(epilog=f"Example: python -m swarm tag trial.duckdb --tagger rules. {ENVIRONMENT}")
@log_file
@tagger
@jobs
def command(file: Path, tagger: str, jobs: int | None) -> None:
    """Find the directives in the posts of FILE's finished rooms."""
    from classifiers.tagging import tag_study
    from swarm.log.store import Log
    from swarm.pool import Workers

    with Log.open(file) as log, Workers(processes(jobs)) as workers:
        tag_study(log, workers, tagger)
        rooms, posts, found = log.rows(
            "SELECT count(*), coalesce(sum(posts), 0), (SELECT count(*) FROM directives "
            "WHERE tagger = $1) FROM tagged WHERE tagger = $1",
            [tagger],
        )[0]
    click.echo(f"{found} directives in {posts} posts of {rooms} rooms ({tagger})")
