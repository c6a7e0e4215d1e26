"""``tag-eval``: a tagger on labelled posts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, option, tagger

SHOWN = 20


@click.command(
    epilog=f"Example: python -m swarm tag-eval posts.jsonl --tagger rules. {ENVIRONMENT}"
)
@click.argument("file", type=click.Path(path_type=Path))
@tagger
@option("--rooms", "room_file", type=click.Path(path_type=Path), metavar="FILE",
        help="Names, services and changes of the posts' rooms.")  # fmt: skip
@option("--split", metavar="NAME", help="Only posts whose split is NAME: train, dev, test.")
@option("--json", "as_json", is_flag=True, default=False, help="Print all figures as JSON.")
def command(
    file: Path, tagger: str, room_file: Path | None, split: str | None, as_json: bool
) -> None:
    """Tag the labelled posts of FILE (JSON lines) and print how well it went."""
    from classifiers.directives import tagger_named
    from classifiers.evaluate import evaluate, read_labelled

    found = evaluate(tagger_named(tagger), read_labelled(file, rooms=room_file, split=split))
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2, ensure_ascii=False))
        return
    click.echo(f"{found.directives} directives in {found.posts} posts, tagger {tagger}")
    for name, value, (low, high) in (
        ("precision", found.precision, found.precision_ci),
        ("recall", found.recall, found.recall_ci),
    ):
        click.echo(f"{name:<12}{value:.3f} ({low:.3f}-{high:.3f})")
    click.echo(f"{'exact match':<12}{found.exact_match:.3f} of posts")
    filings = found.filings
    click.echo(
        f"filings     precision {filings['precision']:.3f}, recall {filings['recall']:.3f} "
        f"of {filings['directives']:.0f}"
    )
    click.echo(f"{found.posts_per_second:,.0f} posts/s")
    _print_errors(found.errors)


def _print_errors(errors: list[dict[str, object]]) -> None:
    from swarm.text import quoted

    if errors:
        some = f", the first {SHOWN}:" if len(errors) > SHOWN else ":"
        click.echo(f"\nNot exact: {len(errors)} posts{some}")
    for error in errors[:SHOWN]:
        click.echo(f"{error['author']}: {quoted(str(error['post']))}")
        for kind in ("missed", "false"):
            if error[kind]:
                click.echo(f"    {kind}: {error[kind]}")
