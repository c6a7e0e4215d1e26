"""A run that is killed at any moment loses nothing, does nothing twice and leaves nobody behind.

A log is killed at random moments, each a little further on, until nothing is left to kill; then it
must hold what an undisturbed run holds. Moments count from when the run has opened the log, or, for
some, from when it begins to make it, so that a slow machine moves no kill to another stage.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import swarm
from swarm.log.store import Log

KILLS = 20
KILLS_IN_CREATION = 3
ROOMS = 40
MARK = "KILL_TEST_RUN"

KEYS = {
    "studies": "name",
    "rooms": "room",
    "seats": "room, seat",
    "outages": "world, outage",
    "changes": "world, position",
    "turns": "room, round, seat",
    "discarded": "room, round, seat, attempt",
    "blocks": "block",
    "prompts": "room, round, seat",
    "cards": "room, round, seat",
    "filings": "room, change",
    "outcomes": "room",
    "tagged": "tagger, room",
    "directives": "tagger, room, round, seat, teammate, kind, target",
    "doubts": "tagger, room, round, seat, teammate, kind, target",
    "contradictions": "tagger, room, round, seat, question",
    "replays": "room, round, seat, removed, replicate",
    "influences": "tagger, schedule, room, round, seat, teammate, kind, target, decision_round",
    "leaders": "tagger, schedule, rule, room",
}
"""What must be unique in each table; `refusals` and `intents` have no key, equality covers them."""


def start(path: Path, mark: str, jobs: int = 1) -> subprocess.Popen[bytes]:
    """The command, on its way; `mark` is in its environment and in its workers'."""
    command = [sys.executable, "-m", "swarm", "run", "--rooms", str(ROOMS), "--seed", "17"]
    root = str(Path(swarm.__file__).parents[1])
    mark = f"{os.getpid()} {mark}"
    with path.with_suffix(f".{mark}.txt").open("wb") as errors:  # a pipe would wait for orphans
        return subprocess.Popen(
            [*command, "--jobs", str(jobs), "--out", str(path)],
            cwd=path.parent,
            env=os.environ
            | {MARK: mark, "PYTHONPATH": f"{root}:{os.environ.get('PYTHONPATH', '')}"},
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def complaint(path: Path, mark: str) -> str:
    """What the run marked `mark` wrote to standard error."""
    return path.with_suffix(f".{os.getpid()} {mark}.txt").read_text()


def wait_until(happens: Callable[[], bool], run: subprocess.Popen[bytes]) -> None:
    while run.poll() is None and not happens():
        time.sleep(0.005)


def has_opened(run: subprocess.Popen[bytes], path: Path) -> bool:
    try:
        return str(path) in [file.path for file in psutil.Process(run.pid).open_files()]
    except psutil.Error:
        return False


def kill(path: Path, seconds: float, *, making: bool, mark: str, jobs: int) -> bool:
    """Start the run and kill it `seconds` after it opened the log, or began `making` it.

    False when it had ended by then.
    """
    run = start(path, mark, jobs)
    draft = path.with_name(f".{path.name}.new")
    wait_until(lambda: (making and draft.exists()) or has_opened(run, path), run)
    with suppress(subprocess.TimeoutExpired):
        run.wait(timeout=seconds)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert run.returncode in (0, -signal.SIGKILL), complaint(path, mark)
    return run.returncode != 0


def alive(marks: str = "") -> list[psutil.Process]:
    """Processes of this test's runs that are marked `marks...`, with their workers."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK, "").startswith(f"{os.getpid()} {marks}"):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return [p for p in found if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def reached(path: Path) -> str:
    """How far the log at `path` has come."""
    if not path.exists():
        return "no log"
    with Log.open(path, read_only=True) as log:  # its journal stays for the next run to find
        if log.value("SELECT count(*) FROM influences"):
            return "attributed"
        counts = [log.value(f"SELECT count(*) FROM {t}") for t in ("outcomes", "tagged", "replays")]
        assert counts[0] == log.value("SELECT count(DISTINCT room) FROM turns")  # rooms are whole
    return ["new", "playing", "tagging", "replaying"][sum(count > 0 for count in counts)]


def assert_nothing_twice(log: Log) -> None:
    for table, key in KEYS.items():
        twice = log.rows(f'SELECT {key} FROM "{table}" GROUP BY {key} HAVING count(*) > 1')
        assert twice == [], table


@pytest.fixture(autouse=True)
def nobody_stays() -> Iterator[None]:
    """Ends what a failed test has left behind."""
    yield
    for process in alive():
        with suppress(psutil.Error):
            process.kill()


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, digests: Callable[[Log], dict[str, str]]
) -> tuple[dict[str, str], float]:
    """What an undisturbed run holds, and how long it works on its log, in seconds."""
    path = tmp_path_factory.mktemp("undisturbed") / "run.duckdb"
    run = start(path, "undisturbed")
    wait_until(lambda: has_opened(run, path), run)
    begun = time.monotonic()
    assert run.wait(timeout=120) == 0, complaint(path, "undisturbed")
    took = time.monotonic() - begun
    with Log.open(path) as log:
        assert log.value("SELECT count(*) FROM outcomes") == ROOMS
        assert log.value("SELECT count(*) FROM influences") > 0
        assert_nothing_twice(log)
        return digests(log), took


def test_twenty_kills_lose_nothing_and_do_nothing_twice(
    tmp_path: Path,
    undisturbed: tuple[dict[str, str], float],
    digests: Callable[[Log], dict[str, str]],
) -> None:
    whole, took = undisturbed
    rng = random.Random(20)
    stages: list[str] = []
    number = 0
    while len(stages) < KILLS:
        number += 1
        path = tmp_path / f"{number}.duckdb"
        making = number <= KILLS_IN_CREATION
        stage = "none"
        while len(stages) < KILLS and stage != "attributed":
            seconds = rng.random() * (0.1 if making else took / 2)
            jobs = 1 + (len(stages) % 3 == 0)
            if not kill(path, seconds, making=making, mark=f"kill-{len(stages)}", jobs=jobs):
                break
            stages.append(stage := reached(path))
            making = False
        run = start(path, "kill-none")
        assert run.wait(timeout=120) == 0, complaint(path, "kill-none")
        with Log.open(path) as log:
            assert digests(log) == whole
            assert_nothing_twice(log)
    print("killed while:", stages)
    assert len(set(stages)) >= 3
    _, left = psutil.wait_procs(alive("kill-"), timeout=5)
    assert left == []
    assert not [p for p in tmp_path.iterdir() if p.suffix in (".wal", ".new")]


def test_the_workers_of_a_killed_run_end_by_themselves(
    tmp_path: Path,
) -> None:
    run = start(tmp_path / "run.duckdb", "orphans", jobs=2)
    wait_until(lambda: len(alive("orphans")) >= 4, run)  # two workers and Python's own helper
    workers = [process for process in alive("orphans") if process.pid != run.pid]
    assert len(workers) >= 2
    run.send_signal(signal.SIGKILL)
    run.wait()
    _, left = psutil.wait_procs(workers, timeout=5)
    assert left == []
    assert alive("orphans") == []


def test_a_second_run_on_a_file_in_use_is_refused_and_harms_nothing(
    tmp_path: Path,
    undisturbed: tuple[dict[str, str], float],
    digests: Callable[[Log], dict[str, str]],
) -> None:
    path = tmp_path / "run.duckdb"
    first = start(path, "first")
    wait_until(lambda: has_opened(first, path), first)
    first.send_signal(signal.SIGSTOP)
    second = start(path, "second")
    code = second.wait(timeout=60)
    first.send_signal(signal.SIGCONT)
    assert code == 2
    assert "in use by another process" in complaint(path, "second")
    assert len(complaint(path, "second").splitlines()) == 1
    assert first.wait(timeout=120) == 0
    with Log.open(path) as log:
        assert digests(log) == undisturbed[0]
