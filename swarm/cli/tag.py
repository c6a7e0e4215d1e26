"""``tag``: directives in the posts of a log."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import (
    ENVIRONMENT,
    abstain_below,
    budget,
    coverage,
    jobs,
    log_file,
    price_unknown,
    processes,
    tagger,
    tagger_api_base,
    tagger_model,
)


@click.command(epilog=f"Example: python -m swarm tag trial.duckdb --tagger rules. {ENVIRONMENT}")
@log_file
@tagger
@tagger_model
@tagger_api_base
@abstain_below
@budget
@price_unknown
@jobs
def command(
    file: Path,
    tagger: str,
    tagger_model: str | None,
    tagger_api_base: str | None,
    abstain_below: float | None,
    budget_usd: float | None,
    price_unknown_ok: bool,
    jobs: int | None,
) -> None:
    """Find the directives in the posts of FILE's finished rooms."""
    from classifiers.tagging import tag_study
    from swarm.log.store import Log
    from swarm.models.gateway import Spending
    from swarm.pool import Workers

    with Log.open(file) as log, Workers(processes(jobs)) as workers:
        tag_study(
            log,
            workers,
            tagger,
            abstain_below=abstain_below,
            model=tagger_model,
            api_base=tagger_api_base,
            spending=Spending(budget_usd, price_unknown_ok),
        )
        rooms, posts, withheld, found = log.rows(
            "SELECT count(*), coalesce(sum(posts), 0), coalesce(sum(withheld), 0)::BIGINT, "
            "(SELECT count(*) FROM directives WHERE tagger = $1) FROM tagged WHERE tagger = $1",
            [tagger],
        )[0]
    click.echo(f"{found} directives in {posts} posts of {rooms} rooms ({tagger})")
    click.echo(coverage(counted=found, found=found + withheld))
