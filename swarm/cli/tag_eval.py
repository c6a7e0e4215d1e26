"""``tag-eval``: a tagger on labelled posts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from swarm.cli.options import (
    ENVIRONMENT,
    abstain_below,
    budget,
    coverage,
    option,
    price_unknown,
    tagger,
    tagger_api_base,
    tagger_model,
)

SHOWN = 20


@click.command(
    epilog=f"Example: python -m swarm tag-eval posts.jsonl --tagger rules. {ENVIRONMENT}"
)
@click.argument("file", type=click.Path(path_type=Path))
@tagger
@tagger_model
@tagger_api_base
@abstain_below
@budget
@price_unknown
@option(
    "--study",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Study file whose [models] the tagger's may be of.",
)
@option("--rooms", "room_file", type=click.Path(path_type=Path), metavar="FILE",
        help="Names, services and changes of the posts' rooms.")  # fmt: skip
@option("--split", metavar="NAME", help="Only posts whose split is NAME, such as test.")
@option("--json", "as_json", is_flag=True, default=False, help="Print all figures as JSON.")
def command(
    file: Path,
    tagger: str,
    tagger_model: str | None,
    tagger_api_base: str | None,
    abstain_below: float | None,
    budget_usd: float | None,
    price_unknown_ok: bool,
    study: Path | None,
    room_file: Path | None,
    split: str | None,
    as_json: bool,
) -> None:
    """Tag the labelled posts of FILE (JSON lines) and print how well it went."""
    from classifiers.directives import Abstaining, tagger_named
    from classifiers.evaluate import evaluate, read_labelled
    from classifiers.remote import say_untagged
    from swarm.models.gateway import Spending
    from swarm.study import load_study

    labelled = read_labelled(file, rooms=room_file, split=split)
    made = tagger_named(
        tagger,
        model=tagger_model,
        api_base=tagger_api_base,
        models=load_study(study, {}).models,
        spending=Spending(budget_usd, price_unknown_ok),
    )
    sure = Abstaining(made, abstain_below)
    found = evaluate(sure, labelled)
    say_untagged(tagger, getattr(made, "untagged", 0))
    if as_json:
        share = sure.counted / sure.found if sure.found else None
        figures = asdict(found) | {"coverage": share}
        click.echo(json.dumps(figures, indent=2, ensure_ascii=False))
        return
    click.echo(f"{found.directives} directives in {found.posts} posts, tagger {tagger}")
    for name, value, (low, high) in (
        ("precision", found.precision, found.precision_ci),
        ("recall", found.recall, found.recall_ci),
    ):
        click.echo(f"{name:<12}{value:.3f} ({low:.3f}-{high:.3f})")
    click.echo(f"{'exact match':<12}{found.exact_match:.3f} of posts")
    click.echo(coverage(counted=sure.counted, found=sure.found))
    filings = found.filings
    click.echo(
        f"filings     precision {filings['precision']:.3f}, recall {filings['recall']:.3f} "
        f"of {filings['directives']:.0f}"
    )
    if found.calibration is not None:
        stated = found.calibration
        click.echo(
            f"calibration Brier {stated['brier']:.3f}, ECE {stated['ece']:.3f} "
            f"over {stated['candidates']:.0f} candidates"
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
