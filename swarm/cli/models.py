"""``models check``: can every live model of a study be called, and what can it do?"""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, option


@click.group()
def command() -> None:
    """Live models of a study."""


@command.command(epilog=f"Example: python -m swarm models check --study mine.toml. {ENVIRONMENT}")
@option("--study", type=click.Path(path_type=Path), metavar="FILE", help="Study file, TOML.")
@option("--models", metavar="A,B,..", help="Models by litellm's names, instead of a study.")
def check(study: Path | None, models: str | None) -> None:
    """Make tiny calls to each live model: reachable, schema, seed, tokens, price.

    Exit code 1 when one cannot be reached.
    """
    import asyncio

    from tabulate import tabulate

    from swarm.errors import RunError, StudyError
    from swarm.models.probe import probe
    from swarm.study import load_study
    from swarm.text import shown

    lineup = tuple(m.strip() for m in models.split(",")) if models else None
    live = load_study(study, {"lineup": lineup}).live_models
    if not live:
        raise StudyError("the study has no live model; name some in [models] or with --models")
    rows, lost = [], 0
    for name, settings in live.items():
        found = asyncio.run(probe(name, settings))
        lost += not found.reachable
        price = _price(settings)
        rows.append(
            [
                name,
                "yes" if found.reachable else f"no: {found.fault}",
                found.schema,
                found.seed,
                "-" if found.tokens_in is None else f"{found.tokens_in} + {found.tokens_out}",
                price,
                "-" if found.seconds is None else f"{found.seconds:.1f}",
                shown(found.served_by or "-"),
            ]
        )
    head = ["model", "reachable", "schema", "seed", "tokens", "USD/Mtok in, out", "s", "served by"]
    click.echo(tabulate(rows, head, disable_numparse=True))
    if lost:
        raise RunError(f"{lost} of {len(rows)} models cannot be reached")


def _price(settings: object) -> str:
    from swarm.models.litellm_path import listed_price
    from swarm.models.settings import ModelSettings

    assert isinstance(settings, ModelSettings)
    if settings.price is not None:
        return f"{settings.price.input:g}, {settings.price.output:g} (study)"
    listed = listed_price(settings.model)
    return "unknown" if listed is None else f"{listed[0]:g}, {listed[2]:g} (litellm)"
