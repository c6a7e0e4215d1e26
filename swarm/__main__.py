"""``python -m swarm``: runs the command line and turns faults into one line and an exit code.

0 done, 1 failed, 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import sys

import click

from swarm.errors import SwarmError, UsageError


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from swarm.cli import cli

    try:
        cli.main(args=arguments, prog_name="python -m swarm", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except UsageError as error:
        print(f"swarm: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except SwarmError as error:
        print(f"swarm: {error}", file=sys.stderr)  # noqa: T201
        return 1
    except (KeyboardInterrupt, click.Abort):
        print(  # noqa: T201
            "\nswarm: interrupted; what was finished is in the log, repeat the command to go on",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away; nobody is left to tell
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
