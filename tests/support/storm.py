"""Rooms in a storm: nearly a third of all calls go wrong, in every way the fault server knows.

    python tests/support/storm.py [ROOMS] [ROUNDS]

plays ROOMS rooms (400 of 3 rounds) over the direct path, repeats the command after each stop, and
prints whether every room ended, every fault is in the log with its class, every valid reply is
there, how many tries calls took, and how old the oldest try became.

The server keeps a journal of what it did to which call: a call is known by its seed. Journal and
log are laid beside each other call by call; only tries that were under way when a run stopped are
in the journal alone.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fault_server import KINDS, shares
from serving import Server, serving

from swarm.errors import ModelError
from swarm.log.store import Log
from swarm.models.faults import Fault
from swarm.pool import Workers
from swarm.runner import play_study
from swarm.study import Study

CLASS = {
    "429 with Retry-After": Fault.RATE_LIMITED,
    "429": Fault.RATE_LIMITED,
    "500": Fault.SERVER,
    "503": Fault.OVERLOADED,
    "408": Fault.TIMEOUT,
    "401": Fault.NO_ACCESS,
    "insufficient_quota": Fault.NO_MONEY,
    "hang": Fault.TIMEOUT,
    "slow drip": Fault.TIMEOUT,
    "close mid-body": Fault.CONNECTION,
    "invalid JSON": Fault.BAD_BODY,
}
STOPPING = ("401", "insufficient_quota")
TIMEOUT = 2.0
ATTEMPTS = 8
CONCURRENCY = 100


@dataclass
class Storm:
    """What came of it."""

    rooms: int = 0
    ended: int = 0
    stops: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0
    asked: int = 0
    kinds: dict[str, int] = field(default_factory=dict)  # as the server counted
    classes: dict[str, int] = field(default_factory=dict)  # as the log has them
    delivered: int = 0  # valid replies that the server sent in full
    logged: int = 0  # ... and that are in the log, text and all
    timed_out: int = 0  # ... or that the client had given up by then
    unseen: int = 0  # tries that timed out before the server had read them
    under_way: int = 0  # tries that the log has no end of: a stop must have cut them off
    cut_off: int = 0  # calls that a stop cut off, by the log
    unexplained: list[str] = field(default_factory=list)
    unused: int = 0  # replies in the log that are in no turn
    most_tries: int = 0  # without refusals for load
    most_refusals: int = 0
    given_up: int = 0
    oldest: float = 0.0  # seconds of the longest try


def study(rooms: int, rounds: int, base: str, seed: int = 3) -> Study:
    """Two models of two ways to err, behind one address."""
    model = {
        "path": "direct",
        "api_base": base,
        "price": {"input": 1.0, "output": 2.0},
        "timeout": TIMEOUT,
        "attempts": ATTEMPTS,
        "concurrency": CONCURRENCY,
    }
    names = ("claude-sonnet-5.5", "kimi-k3")
    return Study.model_validate(
        {
            "rooms": rooms,
            "seed": seed,
            "room": {"rounds": rounds},
            "models": {f"live-{name}": {"model": f"openai/{name}", **model} for name in names},
        }
    )


def faults(share: float = 0.3, stopping: float = 0.0005) -> dict[str, float]:
    """`share` of all kinds, of which those that stop a study get `stopping` each."""
    others = tuple(kind for kind in KINDS if kind not in STOPPING)
    return dict.fromkeys(STOPPING, stopping) | shares(share - stopping * len(STOPPING), others)


def storm(server: Server, path: Path, rooms: int, rounds: int, *, seed: int = 1) -> Storm:
    """Play the rooms, again and again until none is left, and compare the books."""
    server.reset(faults=faults(), latency=0.01, journal=True, seed=seed)
    found = Storm(rooms=rooms)
    start, cpu = time.monotonic(), time.process_time()
    wanted = study(rooms, rounds, server.base)
    while True:
        with Log.open_or_create(path, wanted) as log, Workers(1) as workers:
            try:
                play_study(log, workers)
            except ModelError as stop:
                found.stops.append(str(stop))
                continue
            found.seconds, found.cpu = time.monotonic() - start, time.process_time() - cpu
            _read(log, found)
            _compare(log, server.books(), found)
            return found


def _read(log: Log, found: Storm) -> None:
    found.ended = log.value("SELECT count(*) FROM outcomes")
    found.classes = dict(log.rows("SELECT fault, count(*) FROM faults GROUP BY fault"))
    found.oldest = log.value(
        "SELECT greatest((SELECT max(seconds) FROM faults), (SELECT max(latency) FROM calls))"
    )
    load = f"fault IN ('{Fault.RATE_LIMITED}', '{Fault.OVERLOADED}')"
    # Tries are numbered from 1 in each run's call, so a number that comes again begins a new call.
    runs = log.rows(f"SELECT key, try, {load} FROM faults ORDER BY rowid")
    tries: Counter[tuple[str, int]] = Counter()
    refusals: Counter[tuple[str, int]] = Counter()
    run: Counter[str] = Counter()
    for key, number, refused in runs:
        run[key] += number == 1
        (refusals if refused else tries)[key, run[key]] += 1
    found.most_tries = max(tries.values(), default=0)
    found.most_refusals = max(refusals.values(), default=0)
    found.given_up = log.value(
        f"SELECT count(*) FROM calls WHERE status = 'failed' AND tries >= {ATTEMPTS}"
    )
    found.cut_off = log.value(
        "SELECT count(*) FROM calls WHERE status = 'failed' AND tries < ? AND coalesce(fault, '') "
        "NOT IN (SELECT unnest(?))",
        [ATTEMPTS, [str(CLASS[kind]) for kind in STOPPING]],
    )
    found.unused = log.value(
        "SELECT count(*) FROM calls c WHERE status = 'ok' AND NOT EXISTS (SELECT 1 FROM turns t "
        "WHERE t.room = c.room AND t.round = c.round AND t.seat = c.seat AND t.reply = c.reply "
        "AND t.attempts = c.attempt + 1) AND NOT EXISTS (SELECT 1 FROM discarded d WHERE "
        "d.room = c.room AND d.round = c.round AND d.seat = c.seat AND d.attempt = c.attempt "
        "AND d.reply = c.reply)"
    )


def _compare(log: Log, books: dict[str, Any], found: Storm) -> None:
    """Lay the server's journal beside the log, call by call."""
    found.asked, found.kinds = books["asked"], books["kinds"]
    journal: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for seed, kind, crc in books["journal"]:
        journal[seed].append((kind, crc))
    logged: dict[int, list[tuple[str, int]]] = defaultdict(list)
    seeds = dict(log.rows("SELECT DISTINCT key, (sent->>'seed')::BIGINT FROM calls"))
    for key, fault in log.rows("SELECT key, fault FROM faults ORDER BY rowid"):
        logged[seeds[key]].append((fault, 0))
    for key, reply in log.rows("SELECT key, reply FROM calls WHERE status = 'ok' ORDER BY rowid"):
        logged[seeds[key]].append(("", zlib.crc32(reply.encode())))
    for seed, did in journal.items():
        # Not by order: a try that came too late may be read after the one that followed it.
        rest = Counter(logged.pop(seed, []))
        unmatched = []
        for kind, crc in did:
            want = CLASS.get(kind, "")
            found.delivered += not want
            entry = (want, 0 if want else crc)
            if rest[entry]:
                rest[entry] -= 1
                found.logged += not want
            else:
                unmatched.append(want)
        for want in unmatched:
            if rest[Fault.TIMEOUT, 0]:
                rest[Fault.TIMEOUT, 0] -= 1
                found.timed_out += not want
            else:
                found.under_way += 1
        logged[seed] = list(rest.elements())
    alone = Counter(fault for rest in logged.values() for fault, _ in rest)
    found.unseen += alone.pop(Fault.TIMEOUT, 0)
    found.unexplained = [f"{count} {fault or 'ok'}" for fault, count in alone.items()]


def main() -> None:
    """Run it and print what the issue asks."""
    rooms = int(sys.argv[1]) if sys.argv[1:] else 400
    rounds = int(sys.argv[2]) if sys.argv[2:] else 3
    with TemporaryDirectory() as folder, serving() as server:
        found = storm(server, Path(folder) / "storm.duckdb", rooms, rounds)
    wrong = sum(found.kinds.values())
    print(f"rooms ended       {found.ended} of {found.rooms}, after {len(found.stops)} stops")
    for stop in found.stops:
        print(f"                  {stop}")
    print(f"took              {found.seconds:.0f} s, {found.cpu:.0f} s CPU, {os.cpu_count()} cores")
    print(f"requests          {found.asked}, {wrong / found.asked:.1%} of them gone wrong")
    by_class: Counter[str] = Counter()
    for kind, count in sorted(found.kinds.items()):
        print(f"    {kind:<24}{count:>6}  {CLASS.get(kind, 'a reply, good or bad')}")
        if kind in CLASS:
            by_class[CLASS[kind]] += count
    print(f"{'class':<28}{'made':>6}{'logged':>8}")
    for fault in sorted({*by_class, *found.classes}):
        print(f"    {fault:<24}{by_class[fault]:>6}{found.classes.get(fault, 0):>8}")
    print(
        f"without an end    {found.under_way} tries, of {found.cut_off} calls that stops cut off; "
        f"{found.unseen} timed out unread"
    )
    print(f"not explained     {', '.join(found.unexplained) or 'none'}")
    print(
        f"replies sent      {found.delivered}: {found.logged} in the log with the same text, "
        f"{found.timed_out} came too late, {found.unused} in no turn"
    )
    print(
        f"most tries        {found.most_tries} of {ATTEMPTS}, and {found.most_refusals} refusals "
        f"for load; {found.given_up} calls given up"
    )
    print(f"oldest try        {found.oldest:.2f} s; the limit is {TIMEOUT:.0f} s")


if __name__ == "__main__":
    main()
