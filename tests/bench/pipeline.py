"""How fast the main job is, stage by stage, and what memory it takes.

Each size runs in a process of its own on a new log; its whole process tree is sampled for memory.
Machines are shared and noisy: compare sizes of one run, not runs.

    python tests/bench/pipeline.py [ROOMS ...]      default: 2160 21600
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil


def stages(rooms: int, path: Path) -> dict[str, float]:
    """Seconds of each stage for a study of `rooms` surrogate rooms, and counts of work."""
    from analysis.influence import attribute
    from analysis.report import write_report
    from classifiers.tagging import tag_study
    from replays.replaying import replay_study
    from swarm.log.store import Log
    from swarm.pool import Workers, available_cores
    from swarm.runner import play_study
    from swarm.study import Study

    took: dict[str, float] = {}
    clock = time.perf_counter()

    def lap(stage: str) -> None:
        nonlocal clock
        now = time.perf_counter()
        took[stage], clock = now - clock, now

    key = {"tagger": "learned", "schedule": "published"}
    with (
        Log.open_or_create(path, Study(rooms=rooms)) as log,
        Workers(available_cores()) as workers,
    ):
        lap("set up")
        play_study(log, workers)
        lap("play")
        tag_study(log, workers, "learned")
        lap("tag")
        replay_study(log, workers, **key)
        lap("replay")
        attribute(log, **key)
        lap("attribute")
        write_report(log, **key)
        lap("report")
        counts = log.rows(
            "SELECT (SELECT count(*) FROM turns), (SELECT sum(posts) FROM tagged), "
            "(SELECT count(*) FROM replays)"
        )[0]
    took |= dict(zip(("turns", "posts", "replays"), map(float, counts), strict=True))
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    took["CPU s"] = sum(usage.ru_utime + usage.ru_stime for usage in spent)
    return took


def measured(rooms: int) -> dict[str, float]:
    """`stages` in a process of its own, with wall seconds and peak memory of its tree in MB."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = [sys.executable, __file__, "--one", str(rooms), f"{folder}/rooms.duckdb"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        peak = 0
        tree = psutil.Process(process.pid)
        while process.poll() is None:
            peak = max(peak, _memory(tree))
            time.sleep(0.1)
        wall = time.perf_counter() - start
        assert process.stdout is not None
        found: dict[str, float] = json.loads(process.stdout.read())
        size = Path(folder, "rooms.duckdb").stat().st_size
    return found | {"wall": wall, "peak MB": peak / 1e6, "log MB": size / 1e6}


def _memory(tree: psutil.Process) -> int:
    """Resident bytes of a process and its children, shared pages counted once where known."""
    total = 0
    try:
        for process in (tree, *tree.children(recursive=True)):
            total += process.memory_full_info().pss
    except psutil.Error:  # one of them has just ended
        pass
    return total


def main() -> None:
    """Print a table with a column for each size."""
    sizes = [int(a) for a in sys.argv[1:]] or [2160, 21600]
    results = {rooms: measured(rooms) for rooms in sizes}
    print(f"{'':<22}" + "".join(f"{rooms:>14,}" for rooms in sizes) + "  rooms")
    for stage in ("set up", "play", "tag", "replay", "attribute", "report"):
        cells = "".join(f"{results[r][stage]:>8.1f} s" + " " * 4 for r in sizes)
        rates = "  ".join(f"{r / results[r][stage]:,.0f} rooms/s" for r in sizes)
        print(f"{stage:<22}{cells}  {rates}")
    for label, count, stage in (
        ("turns/s, playing", "turns", "play"),
        ("posts/s, tagging", "posts", "tag"),
        ("replays/s", "replays", "replay"),
    ):
        print(
            f"{label:<22}"
            + "".join(f"{results[r][count] / results[r][stage]:>14,.0f}" for r in sizes)
        )
    for label in ("wall", "CPU s", "peak MB", "log MB"):
        print(f"{label:<22}" + "".join(f"{results[r][label]:>14,.1f}" for r in sizes))
    first, last = sizes[0], sizes[-1]
    if last > first:
        print(
            f"{last / first:.0f}x the rooms: {results[last]['wall'] / results[first]['wall']:.1f}x "
            f"the time, {results[last]['CPU s'] / results[first]['CPU s']:.1f}x the CPU, "
            f"{results[last]['peak MB'] / results[first]['peak MB']:.2f}x the memory"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(stages(int(sys.argv[2]), Path(sys.argv[3]))))
    else:
        main()
