"""How fast the learned tagger reads, on one core.

    python tests/bench/tagger.py [POSTS]

Prints the seconds that a fresh process needs to load it, and posts a second of CPU time over corpus
posts in random order: first as they come (every spelling new), then again.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from classifiers.directives import PostInRoom, tagger_named
from classifiers.evaluate import read_labelled

CORPUS = Path(__file__).parents[2] / "classifiers" / "corpora"
LOADING = (
    "import time; start = time.perf_counter()\n"
    "from classifiers.directives import tagger_named; tagger_named({name!r})\n"
    "print(time.perf_counter() - start)"
)


def rate(name: str, posts: list[PostInRoom]) -> tuple[float, float]:
    """Posts a second of CPU time, the first and the second time."""
    tagger = tagger_named(name)
    found = []
    for _ in range(2):
        start = time.process_time()
        tagger.read(posts)
        found.append(len(posts) / (time.process_time() - start))
    return found[0], found[1]


def main() -> None:
    """Print the table."""
    many = int(sys.argv[1]) if sys.argv[1:] else 10_000
    labelled = read_labelled(CORPUS / "posts.jsonl", rooms=CORPUS / "rooms.jsonl")
    posts = [item.post for item in labelled]
    random.Random(0).shuffle(posts)
    for name in ("rules", "learned"):
        code = LOADING.format(name=name)
        loads = sorted(
            float(
                subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
            )
            for _ in range(5)
        )
        first, again = rate(name, posts[:many])
        print(
            f"{name:<8} loads in {loads[2]:.2f} s, {first:,.0f} posts/s, again {again:,.0f} posts/s"
        )


if __name__ == "__main__":
    main()
