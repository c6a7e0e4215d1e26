"""The tag stage: every post of the log, through one tagger, into `directives`.

A room is done (`tagged`) for a tagger of one version, with one model and one threshold. When any of
them is another now, the room is tagged again, and what it led to is taken out of the log. Taggers
here work in processes, whole rooms at a time; those that ask a model elsewhere (see
`classifiers.remote`) work on one event loop, post by post.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import duckdb

from classifiers.check import INTENDED, take_intended
from classifiers.directives import (
    NOTHING,
    Change,
    PostInRoom,
    Tagged,
    Tagger,
    tagger_named,
)
from classifiers.remote import Placed, RemoteTagger, read_all, say_untagged
from swarm.log.store import Log
from swarm.log.tables import Batch, batch_of
from swarm.log.writer import Writer
from swarm.models.gateway import Spending
from swarm.pool import Workers
from swarm.progress import progress
from swarm.runner import chunked
from swarm.scenario import Rows

ROOMS_PER_JOB = 48


@dataclass(frozen=True, slots=True)
class _Room:
    room: str
    names: tuple[str, ...]
    changes: tuple[Change, ...]
    posts: tuple[tuple[int, int, str], ...]  # (round, seat, post)

    def asked(self, services: tuple[str, ...]) -> list[PostInRoom]:
        """Its posts as taggers read them."""
        found = []
        for round, seat, post in self.posts:
            author = self.names[seat]
            teammates = tuple(name for name in self.names if name != author)
            found.append(PostInRoom(round, author, teammates, services, self.changes, post))
        return found


@dataclass(frozen=True, slots=True)
class _Job:
    tagger: str
    abstain_below: float | None
    services: tuple[str, ...]
    rooms: tuple[_Room, ...]


def tag_study(
    log: Log,
    workers: Workers,
    tagger: str,
    *,
    abstain_below: float | None = None,
    model: str | None = None,
    api_base: str | None = None,
    spending: Spending | None = None,
) -> None:
    """Tag the posts of every finished room that the tagger, as it is now, has not been through.

    Parameters
    ----------
    abstain_below : float, optional
        Directives of a lower probability become doubts, which never count.
    model, api_base : str, optional
        Of a tagger that asks a model elsewhere: which, and where.
    spending : Spending, optional
        What that may cost.

    Raises
    ------
    UsageError
        When there is no tagger of that name, or it lacks something; ModelError when its model
        stops answering. What was done is in the log.
    """
    if tagger == INTENDED:
        take_intended(log)
        return
    made = tagger_named(
        tagger, model=model, api_base=api_base, models=log.study.models, spending=spending
    )
    _forget_others(log, made, abstain_below)
    todo = [
        room
        for (room,) in log.rows(
            "SELECT room FROM outcomes o WHERE NOT EXISTS "
            "(SELECT 1 FROM tagged t WHERE t.room = o.room AND t.tagger = ?) ORDER BY room",
            [tagger],
        )
    ]
    if not todo:
        return
    done = log.value("SELECT count(*) FROM outcomes") - len(todo)
    services = tuple(getattr(log.study.room_settings, "services", ()))
    rooms = (_rooms(log, some) for some in chunked(todo, ROOMS_PER_JOB))
    with Writer(log) as writer, progress("tag", total=done + len(todo), done=done) as bar:
        if isinstance(made, RemoteTagger):
            every = (room for some in rooms for room in some)
            _tag_remotely(log, writer, made, every, services, abstain_below, bar)
        else:
            jobs = (_Job(tagger, abstain_below, services, some) for some in rooms)
            for batch in workers.spread(_tag_job, jobs):
                writer.put(batch)
                bar.update(batch["tagged"].num_rows)


def _forget_others(log: Log, tagger: Tagger, abstain_below: float | None) -> None:
    """Take out what this tagger found as another version, with another model or threshold."""
    other = (
        "tagger = $1 AND NOT (version = $2 AND model = $3 AND abstain_below IS NOT DISTINCT FROM "
        "$4::DOUBLE)"
    )
    now = [tagger.name, tagger.version, tagger.model, abstain_below]
    rooms = log.value(f"SELECT count(*) FROM tagged WHERE {other}", now)
    if not rooms:
        return
    print(  # noqa: T201
        f"swarm: {rooms} rooms were tagged by {tagger.name} with another version, model or "
        "threshold; they are tagged again",
        file=sys.stderr,
    )
    con = log.con
    con.execute("BEGIN")
    try:
        for table in ("directives", "doubts", "contradictions"):
            con.execute(
                f"DELETE FROM {table} WHERE tagger = $1 AND room IN "
                f"(SELECT room FROM tagged WHERE {other})",
                now,
            )
        for table in ("influences", "leaders"):  # which are made of all rooms together
            con.execute(f"DELETE FROM {table} WHERE tagger = $1", [tagger.name])
        con.execute(f"DELETE FROM tagged WHERE {other}", now)
        con.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise


def _rooms(log: Log, rooms: tuple[str, ...]) -> tuple[_Room, ...]:
    wanted = [list(rooms)]
    names: dict[str, list[str]] = defaultdict(list)
    for room, name in log.rows(
        "SELECT room, name FROM seats WHERE room IN (SELECT unnest(?)) ORDER BY room, seat", wanted
    ):
        names[room].append(name)
    changes: dict[str, list[Change]] = defaultdict(list)
    for room, *change in log.rows(
        "SELECT room, change, service, kind, time FROM rooms JOIN changes USING (world) "
        "WHERE room IN (SELECT unnest(?)) ORDER BY room, position",
        wanted,
    ):
        changes[room].append(Change(*change))
    posts: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for room, *post in log.rows(
        "SELECT room, round, seat, post FROM turns "
        "WHERE post_block IS NOT NULL AND room IN (SELECT unnest(?)) ORDER BY room, round, seat",
        wanted,
    ):
        posts[room].append((post[0], post[1], post[2]))
    return tuple(
        _Room(room, tuple(names[room]), tuple(changes[room]), tuple(posts[room])) for room in rooms
    )


def _tag_job(job: _Job) -> Batch:
    """Tag the posts of some rooms, in a worker process."""
    tagger = tagger_named(job.tagger)
    found = iter(tagger.read([post for room in job.rooms for post in room.asked(job.services)]))
    read = ((room, [next(found) for _ in room.posts]) for room in job.rooms)
    return batch_of(_rows_of(tagger, job.abstain_below, read))


def _tag_remotely(
    log: Log,
    writer: Writer,
    tagger: RemoteTagger,
    rooms: Iterable[_Room],
    services: tuple[str, ...],
    abstain_below: float | None,
    bar: Any,
) -> None:
    """Tag rooms post by post; one with a post that could not be read stays for the next time."""
    waiting: dict[str, tuple[_Room, dict[tuple[int, int], Tagged | None]]] = {}
    untagged: list[str] = []

    def end(room: _Room, every: Sequence[Tagged | None]) -> None:
        found = [tagged for tagged in every if tagged is not None]
        untagged.extend([room.room] * (len(every) - len(found)))
        if len(found) == len(every):
            writer.put_rows(_rows_of(tagger, abstain_below, [(room, found)]))
        bar.update(1)

    def places() -> Iterator[Placed]:
        for room in rooms:
            waiting[room.room] = (room, {})
            if not room.posts:
                end(room, [])
            for (round, seat, _), post in zip(room.posts, room.asked(services), strict=True):
                yield Placed(room.room, round, seat, post)

    def heard(placed: Placed, tagged: Tagged | None) -> None:
        room, so_far = waiting[placed.room]
        so_far[placed.round, placed.seat] = tagged
        if len(so_far) == len(room.posts):
            del waiting[placed.room]
            end(room, [so_far[round, seat] for round, seat, _ in room.posts])

    asyncio.run(read_all(tagger, log, writer, places(), heard))
    say_untagged(tagger.name, len(untagged), len(set(untagged)))


def _rows_of(
    tagger: Tagger,
    abstain_below: float | None,
    read: Iterable[tuple[_Room, Sequence[Tagged]]],
) -> Rows:
    """Rows of whole rooms; those of a room must be committed together."""
    rows: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    directives = rows["directives"]
    for room, every in read:
        withheld = 0
        seats = {name: seat for seat, name in enumerate(room.names)}
        for (round, seat, _), tagged in zip(room.posts, every, strict=True):
            if tagged is NOTHING:  # most posts
                continue
            found = tagged if abstain_below is None else tagged.abstaining(abstain_below)
            withheld += len(tagged.directives) - len(found.directives)
            key = (tagger.name, room.room, round, seat)
            for d, probability in zip(found.directives, found.probabilities, strict=True):
                directives.append((*key, seats[d.teammate], d.kind, d.target, probability))
            for d, probability in found.doubts:
                rows["doubts"].append((*key, seats[d.teammate], d.kind, d.target, probability))
            rows["contradictions"] += [(*key, question) for question in found.contradictions]
        rows["tagged"].append(
            (
                *(tagger.name, tagger.version, tagger.model, room.room, len(room.posts)),
                *(abstain_below, withheld),
            )
        )
    return {table: given for table, given in rows.items() if given}
