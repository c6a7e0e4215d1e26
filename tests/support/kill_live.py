"""A live run, killed again and again, against a server that says what it was made to answer.

    python tests/support/kill_live.py [KILLS] [ROOMS]

plays ROOMS rooms (200) through ``python -m swarm run`` against the fault server, kills the run
KILLS times (20) at random moments, lets it end, and prints how many replies were paid for twice,
whether the rooms are those of an undisturbed run, and what ``verify`` finds.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from serving import Server, serving

from swarm.log.store import Log
from swarm.verify import verify

STUDY = """\
rooms = {rooms}
seed = 11
[room]
rounds = {rounds}
[models.live]
model = "openai/{model}"
path = "direct"
api_base = "{base}"
price = {{ input = 1.0, output = 2.0 }}
concurrency = {concurrency}
parameters = {{ max_tokens = 600 }}
"""
SAME = {
    "turns": "room, round, position, seat, attempts, status, rule, failed, reply, note, post, "
    "query, file, model, tokens_in, tokens_out, cost",
    "discarded": "* EXCLUDE (latency)",
    "prompts": "*",
    "blocks": "*",
    "cards": "*",
    "refusals": "*",
    "filings": "*",
    "outcomes": "* EXCLUDE (seconds)",
    "directives": "*",
    "replays": "* EXCLUDE (latency)",
    "influences": "*",
    "leaders": "*",
}
"""What must be the same in both runs: everything but what a clock said."""


@dataclass
class Killed:
    """What came of it."""

    kills: int = 0
    calls: int = 0  # different calls
    twice: int = 0  # replies that the server gave more than once, each time counted
    in_flight: int = 0  # most at once
    differing: list[str] = field(default_factory=list)  # tables
    found_by_verify: int = 0
    stages: list[str] = field(default_factory=list)  # where the kills struck
    seconds: float = 0.0
    billed: float = 0.0
    spent: float = 0.0

    @property
    def bound(self) -> int:
        """Most replies that the kills may make the server give twice."""
        return self.kills * self.in_flight


def write_study(
    path: Path, base: str, rooms: int, rounds: int, concurrency: int, model: str = "kimi-k3"
) -> Path:
    """A study file of one live model."""
    path.write_text(
        STUDY.format(rooms=rooms, rounds=rounds, base=base, concurrency=concurrency, model=model)
    )
    return path


def start(study: Path, log: Path, more: Sequence[str] = ()) -> subprocess.Popen[str]:
    """The command, on its way."""
    command = [sys.executable, "-m", "swarm", "run", "--study", str(study), "--out", str(log)]
    return subprocess.Popen(
        [*command, "--jobs", "1", *more],
        cwd=Path(__file__).parents[2],
        env=os.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(study: Path, log: Path, more: Sequence[str] = (), code: int = 0) -> str:
    """The command to its end; returns what it said on standard error."""
    process = start(study, log, more)
    _, errors = process.communicate(timeout=3600)
    assert process.returncode == code, errors
    return errors


def kill_after(process: subprocess.Popen[str], server: Server, calls: int, seconds: float) -> bool:
    """SIGKILL, `seconds` after the server was asked `calls` times; False when it had ended."""
    while process.poll() is None and server.books()["asked"] < calls:
        time.sleep(0.01)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def kill_live(
    server: Server, folder: Path, kills: int, rooms: int, *, rounds: int = 5, concurrency: int = 16
) -> Killed:
    """See the module."""
    sticky = {"fenced JSON": 0.05, "finish_reason length": 0.05, "wrong schema": 0.03}
    sticky |= {"null usage": 0.03}
    study = write_study(folder / "study.toml", server.base, rooms, rounds, concurrency)
    server.reset(sticky=sticky, latency=0.02)
    run(study, folder / "calm.duckdb")
    total = server.books()["asked"]
    found, dice, begun = Killed(kills=kills), random.Random(kills), time.monotonic()
    server.reset(sticky=sticky, latency=0.02)
    log = folder / "killed.duckdb"
    for number in range(kills):
        # Spread over the whole run, so that all its stages are struck.
        at = round(total * (number + dice.random()) / (kills + 1))
        process = start(study, log)
        assert kill_after(process, server, at, dice.random() * 0.5), "ended before it was killed"
        found.stages.append(_stage(log))
    run(study, log)
    books = server.books()
    found.seconds = time.monotonic() - begun
    found.in_flight, found.billed = books["most_at_once"], books["billed"]
    found.calls = len(books["delivered"])
    found.twice = sum(count - 1 for count in books["delivered"].values())
    with Log.open(folder / "calm.duckdb") as calm, Log.open(log) as killed:
        for table, columns in SAME.items():
            query = f"SELECT {columns} FROM {table} ORDER BY ALL"
            if calm.rows(query) != killed.rows(query):
                found.differing.append(table)
        found.found_by_verify = len(list(verify(killed)))
        found.spent = killed.value("SELECT sum(coalesce(cost, 0) + assumed) FROM calls")
    return found


def _stage(log: Path) -> str:
    if not log.exists():
        return "none"
    with Log.open(log, read_only=True) as opened:
        if opened.value("SELECT count(*) FROM tagged"):
            return "replay"
        return "play" if opened.value("SELECT count(*) FROM calls") else "new"


def main() -> None:
    """Run it and print what the issue asks."""
    kills = int(sys.argv[1]) if sys.argv[1:] else 20
    rooms = int(sys.argv[2]) if sys.argv[2:] else 200
    with TemporaryDirectory() as folder, serving() as server:
        found = kill_live(server, Path(folder), kills, rooms)
    print(f"kills            {found.kills}, during: {', '.join(found.stages)}")
    print(f"took             {found.seconds:.0f} s")
    print(f"calls            {found.calls}, at most {found.in_flight} at the server at once")
    print(f"paid twice       {found.twice}; kills x calls in flight = {found.bound}")
    print(f"differing tables {', '.join(found.differing) or 'none'}")
    print(f"verify           {found.found_by_verify} differences")


if __name__ == "__main__":
    main()
