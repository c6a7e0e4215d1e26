"""Options that several commands share; each is also an environment variable ``SWARM_NAME``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

ENVIRONMENT = "Every option is also an environment variable: --name-order is SWARM_NAME_ORDER."


def option(name: str, *more: str, **settings: Any) -> Callable[[Command], Command]:
    """A click option with its environment variable."""
    long = name.removeprefix("--").replace("-", "_")
    return click.option(name, *more, envvar=f"SWARM_{long.upper()}", **settings)


def log_file(command: Command) -> Command:
    """The log that a command works on."""
    return click.argument("file", type=click.Path(path_type=Path), envvar="SWARM_OUT")(command)


jobs = option(
    "--jobs", type=click.IntRange(1, 1024), metavar="N", help="Processes. [default: all cores]"
)
tagger = option(
    "--tagger",
    default="learned",
    metavar="NAME",
    show_default=True,
    help="Finds directives in posts.",
)
tagger_model = option(
    "--tagger-model", metavar="NAME", help="Of taggers llm, jev: the study's name, or litellm's."
)
tagger_api_base = option("--tagger-api-base", metavar="URL", help="Address of the tagger's model.")
abstain_below = option(
    "--abstain-below",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="Count no less likely directive.",
)
schedule = option(
    "--schedule",
    default="published",
    metavar="NAME",
    show_default=True,
    help="Replays that a decision gets.",
)
budget = option(
    "--budget-usd", type=click.FloatRange(min=0), metavar="USD", help="Cap over all its runs."
)
price_unknown = option(
    "--price-unknown-ok", is_flag=True, default=False, help="Call models without a known price."
)


def processes(jobs: int | None) -> int:
    """The number of processes to use."""
    from swarm.pool import available_cores

    return jobs or available_cores()


def coverage(*, counted: int, found: int) -> str:
    """A line on how many of the directives found are counted."""
    share = f"{counted / found:.3f}" if found else "-"
    return f"{'coverage':<12}{share} of {found} directives found are counted"
