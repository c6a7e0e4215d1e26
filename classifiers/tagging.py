"""The tag stage: every post of the log, through one tagger, into `directives`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from classifiers.directives import Change, PostInRoom, tagger_named
from swarm.log.store import Log, Writer
from swarm.log.tables import Batch, batch_of
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


@dataclass(frozen=True, slots=True)
class _Job:
    tagger: str
    services: tuple[str, ...]
    rooms: tuple[_Room, ...]


def tag_study(log: Log, workers: Workers, tagger: str) -> None:
    """Tag the posts of every finished room that `tagger` has not been through.

    Raises
    ------
    UsageError
        When there is no tagger of that name.
    """
    tagger_named(tagger)
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
    jobs = (_Job(tagger, services, _rooms(log, rooms)) for rooms in chunked(todo, ROOMS_PER_JOB))
    with Writer(log) as writer, progress("tag", total=done + len(todo), done=done) as bar:
        for batch in workers.spread(_tag_job, jobs):
            writer.put(batch)
            bar.update(batch["tagged"].num_rows)


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
    asked: list[PostInRoom] = []
    for room in job.rooms:
        for round, seat, post in room.posts:
            author = room.names[seat]
            teammates = tuple(name for name in room.names if name != author)
            asked.append(PostInRoom(round, author, teammates, job.services, room.changes, post))
    found = iter(tagger.tag(asked))
    rows: Rows = {
        "tagged": [(job.tagger, tagger.version, r.room, len(r.posts)) for r in job.rooms],
        "directives": [
            (job.tagger, room.room, round, seat, room.names.index(d.teammate), d.kind, d.target)
            for room in job.rooms
            for round, seat, _ in room.posts
            for d in next(found)
        ],
    }
    return batch_of({table: given for table, given in rows.items() if given})
