"""``local-model``: a small real model as an OpenAI-compatible endpoint on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from swarm.cli.options import ENVIRONMENT, option


@click.command(epilog=f"Example: python -m swarm local-model qwen-0.5b. {ENVIRONMENT}")
@click.argument("name", required=False)
@option("--gguf", type=click.Path(path_type=Path), metavar="PATH", help="Serve this file; no NAME.")
@option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8500,
    metavar="PORT",
    show_default=True,
    help="Port on loopback; 0 takes a free one.",
)
@option(
    "--slots",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Replies made at the same time. [default: one a core]",
)
@option(
    "--threads",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Threads that the slots share. [default: one a slot]",
)
@option(
    "--reproducible",
    is_flag=True,
    default=False,
    help="Same prompt and seed, same reply: one slot, no kept prompts; several times slower.",
)
@option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where joined weights are kept. [default: swarm in the user's cache directory]",
)
def command(
    name: str | None,
    gguf: Path | None,
    port: int,
    slots: int | None,
    threads: int | None,
    reproducible: bool,
    cache: Path | None,
) -> None:
    """Offer a small real model as an OpenAI-compatible endpoint; nothing is downloaded.

    NAME is smollm2-135m, qwen-0.5b or qwen-1.5b; their weights come from installed packages. Such a
    model shows that a study runs, and nothing about who leads.
    """
    import threading

    from swarm.cli.options import processes
    from swarm.errors import UsageError
    from swarm.models.local import cache_dir, llama_cpp, require_port, serving, weights_file

    if (name is None) == (gguf is None):
        raise UsageError("give the name of a model or --gguf PATH, one of the two")
    if slots is None:
        slots = 1 if reproducible else processes(None)
    require_port(port)
    llama_cpp()
    if gguf is not None:
        path, name = gguf, gguf.stem
    else:
        assert name is not None
        path = weights_file(name, cache or cache_dir())
    with serving(
        path,
        name=name,
        port=port,
        slots=slots,
        threads=threads or slots,
        reproducible=reproducible,
    ) as url:
        click.echo(f"{name} at {url}: {slots} at a time (Ctrl-C ends)")
        threading.Event().wait()
