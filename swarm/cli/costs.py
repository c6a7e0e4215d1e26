"""``costs``: what live calls cost, by model, stage and room."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, log_file, option


@click.command(epilog=f"Example: python -m swarm costs trial.duckdb --by room. {ENVIRONMENT}")
@log_file
@option(
    "--by",
    type=click.Choice(["model", "stage", "room"]),
    multiple=True,
    help="What to break the costs down by; may be given again. [default: model, then stage]",
)
def command(file: Path, by: tuple[str, ...]) -> None:
    """Print the calls, tokens and US dollars of FILE's live models.

    "assumed" is what failed tries may have been billed; it counts as spent.
    """
    from tabulate import tabulate

    from swarm.log.store import Log
    from swarm.text import shown

    columns = ", ".join(by or ("model", "stage"))
    with Log.open(file) as log:
        rows = log.rows(
            f"SELECT {columns}, count(*), sum(tries)::BIGINT, count(*) FILTER (status = 'failed'), "
            "sum(tokens_in)::BIGINT, sum(tokens_cached)::BIGINT, sum(tokens_out)::BIGINT, "
            "sum(tokens_reasoning)::BIGINT, sum(cost), sum(assumed), "
            "count(*) FILTER (status = 'ok' AND cost IS NULL) "
            f"FROM calls GROUP BY ALL ORDER BY {columns}"
        )
        lost = log.value("SELECT coalesce(sum(amount), 0) FROM losses")
    if not rows:
        click.echo(f"{file} holds no live call; surrogate agents cost nothing")
        return
    head = (*(by or ("model", "stage")), "calls", "tries", "failed", "tokens in", "cached",
            "tokens out", "reasoning", "USD", "assumed", "unpriced")  # fmt: skip
    keys = len(by or ("model", "stage"))
    table = [
        [shown(str(cell)) for cell in row[:keys]]
        + ["-" if cell is None else f"{cell:,}" for cell in row[keys : keys + 7]]
        + ["-" if cell is None else f"{cell:.4f}" for cell in row[keys + 7 : keys + 9]]
        + [str(row[-1])]
        for row in rows
    ]
    click.echo(tabulate(table, head, disable_numparse=True))
    spent = sum((row[keys + 7] or 0) + (row[keys + 8] or 0) for row in rows)
    click.echo(
        f"\nUS dollars in all: {spent + lost:.4f}"
        + (f", of them {lost:.4f} that killed runs may have lost" if lost else "")
    )
