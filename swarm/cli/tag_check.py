"""``tag-check``: a tagger against what scripted agents meant, in the published form."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, log_file, option, schedule, tagger


@click.command(epilog=f"Example: python -m swarm tag-check trial.duckdb --posts 60. {ENVIRONMENT}")
@log_file
@tagger
@schedule
@option("--posts", type=click.IntRange(1), default=60, show_default=True, help="Posts to draw.")
@option("--first-round", type=click.IntRange(0), default=40, show_default=True,
        help="How many of them from round 1.")  # fmt: skip
@option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
def command(
    file: Path, tagger: str, schedule: str, posts: int, first_round: int, seed: int
) -> None:
    """Draw posts of FILE, and table a tagger's directives beside those that were meant.

    Leaders are compared too when they were attributed both by the tagger and by "intended".
    """
    from tabulate import tabulate

    from classifiers.check import INTENDED, check_tagger, leaders_of
    from swarm.log.store import Log

    with Log.open(file) as log:
        found = check_tagger(log, tagger, posts=posts, first_round=first_round, random_state=seed)
        mine = leaders_of(log, tagger, schedule)
        true = leaders_of(log, INTENDED, schedule)
    rows = [
        ("posts", found.posts, "60, 40 of round 1"),
        ("posts with directives", found.with_directives, "9"),
        ("recall", f"{found.both}/{found.meant}", "35/35"),
        ("precision", f"{found.both}/{found.tagged}", "35/39"),
    ]
    click.echo(
        tabulate(rows, ("", f"{tagger}, by what was meant", "published, by annotators"),
                 disable_numparse=True)
    )  # fmt: skip
    if mine and true:
        click.echo(
            f"\nLeaders: {len(mine)} by {tagger}, {len(true)} by {INTENDED}; {len(mine & true)} "
            f"are the same, {len(mine ^ true)} differ"
        )
