"""The command line: one file a command, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

_COMMANDS = {
    "run": "Play rooms, tag, replay, attribute and report.",
    "tag": "Find the directives in a log's posts.",
    "tag-eval": "Measure a tagger on labelled posts.",
    "tag-check": "Compare a tagger with what scripted agents meant.",
    "replay": "Ask followed decisions again, with and without the post.",
    "attribute": "Compute weights and leaders.",
    "report": "Print the report and write it as Markdown.",
    "show": "Print one room as a transcript.",
    "verify": "Check a log against its own replies.",
    "models": "Make one tiny call to each live model and say what it can do.",
    "costs": "Print what live calls cost, by model, stage, room.",
    "serve": "Offer the surrogates as an OpenAI-compatible endpoint.",
    "local-model": "Serve a real small LLM on this machine.",
}


class _Lazy(click.Group):
    """A group whose commands are modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"swarm.cli.{cmd_name.replace('-', '_')}").command
        return command


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: python -m swarm run --rooms 80 --out trial.duckdb",
)
@click.version_option(package_name="swarm-rooms", prog_name="swarm")
def cli() -> None:
    """Put agents with equal rights into a room and find out who really leads."""
