"""``serve``: the surrogates as an OpenAI-compatible endpoint on this machine."""

from __future__ import annotations

import click

from swarm.cli.options import ENVIRONMENT, option


@click.command(epilog=f"Example: python -m swarm serve --port 8400. {ENVIRONMENT}")
@option("--host", default="127.0.0.1", metavar="HOST", show_default=True, help="Address.")
@option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8400,
    metavar="PORT",
    show_default=True,
    help="Port; 0 takes a free one.",
)
@option("--scenario", default="outage", metavar="NAME", show_default=True, help="Whose surrogates.")
def command(host: str, port: int, scenario: str) -> None:
    """Offer the surrogate agents as an OpenAI-compatible endpoint (chat completions).

    Any client can play them: set its base URL to the address that is printed.
    """
    import asyncio

    from swarm.models.server import make_app
    from swarm.scenario import scenario_named

    asyncio.run(_serve(make_app(scenario_named(scenario)), host, port))


async def _serve(app: object, host: str, port: int) -> None:
    import asyncio

    from aiohttp import web

    from swarm.errors import UsageError

    assert isinstance(app, web.Application)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        bound = runner.addresses[0][1]
        click.echo(f"surrogate agents at http://{host}:{bound}/v1 (Ctrl-C ends)")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
