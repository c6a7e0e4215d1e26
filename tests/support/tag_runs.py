"""The tag stage from the outside: what it found in a log, and a run that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from serving import Server

from swarm.log.store import Log

FOUND = "room, round, seat, teammate, kind, target"


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a query on the log at `path`."""
    with Log.open(path, read_only=True) as log:
        return log.rows(sql)


def found(path: Path, tagger: str, more: str = "") -> list[tuple[Any, ...]]:
    """What `tagger` found, sorted."""
    return rows(
        path, f"SELECT {FOUND}{more} FROM directives WHERE tagger = '{tagger}' ORDER BY ALL"
    )


def posts(path: Path) -> int:
    """Posts in the log."""
    return int(rows(path, "SELECT count(*) FROM posts")[0][0])


def killed(path: Path, server: Server, after: int, *arguments: str) -> bool:
    """``swarm tag``, killed once the server has been asked `after` times; False when it ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "swarm", "tag", str(path), *arguments],
        cwd=Path(__file__).parents[2],
        env=os.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and server.books()["asked"] < after:
        time.sleep(0.005)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return process.returncode == -signal.SIGKILL


def sayable(path: Path) -> list[tuple[Any, ...]]:
    """What the rules found, as far as one step a teammate can say it (see `tag_oracle`)."""
    kept: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in found(path, "rules"):
        kept.setdefault(row[:4], []).append(row)
    said = []
    for asked in kept.values():
        queries = [row for row in asked if row[4] == "query"]
        said += queries[:2] or asked[:1]
    return sorted(said)
