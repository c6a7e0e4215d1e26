"""What taggers that ask a model elsewhere have in common.

One call a post, many at once. What was answered is kept in the log's table `answers` under a hash
of everything that was asked, from the moment it came: a run that was stopped, or killed, goes on
with what is missing, and other thresholds cost no call. Such answers are not the same twice, so
what was answered once stays.

A post whose answers cannot be read stays untagged, and its room is not done: a later run asks
again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from classifiers.directives import NOTHING, PostInRoom, Tagged, Tagger
from classifiers.questions import Answer, questions_for, reading_of
from swarm.log.journal import journal_of
from swarm.log.store import Log
from swarm.log.writer import Writer
from swarm.models.ledger import Ledger
from swarm.progress import progress
from swarm.runner import chunked
from swarm.scenario import Rows
from swarm.study import Study
from swarm.tasks import all_of
from swarm.text import storable

IN_FLIGHT = 200
"""Posts at work at once; how many calls are at once is the pace's to find out."""
_POSTS_PER_LOOK = 1000  # whose stored answers are read together


@dataclass(frozen=True, slots=True)
class Placed:
    """A post and where it stands: room, round, and seat of its author."""

    room: str
    round: int
    seat: int
    post: PostInRoom


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of asking about a post.

    Attributes
    ----------
    answers : dict or None
        By question id; None when no reply could be read.
    attempts : int
        Replies asked for so far, those of earlier runs included.
    tokens : int or None
        Of the requests of this run; None is unknown.
    served_by : str or None
        The provider's own name of the model.
    """

    answers: dict[str, Answer] | None
    attempts: int
    tokens: int | None
    served_by: str | None


class Session(Protocol):
    """An open way to the model of a tagger."""

    async def ask(self, placed: Placed, first: int) -> Heard | None:
        """Ask about one post; None when no try was answered.

        Parameters
        ----------
        first : int
            Replies about this post that earlier runs could not read.

        Raises
        ------
        swarm.errors.ModelError
            When every further call would fail: no access, no money, no such model.
        """
        ...

    def keep(self, rows: Rows) -> None:
        """Write rows so that a kill does not lose them."""
        ...


class RemoteTagger(Tagger):
    """A tagger that asks a model elsewhere.

    Attributes
    ----------
    untagged : int
        Posts that the last `read` got no answers about; it gives no directives for them.
    """

    untagged = 0

    @property
    def identity(self) -> Any:
        """What decides the model's answers besides the post, as JSON values."""
        raise NotImplementedError

    def session(self, log: Log, writer: Writer) -> AbstractAsyncContextManager[Session]:
        """Open a way to the model, booked in `log`."""
        raise NotImplementedError

    def key(self, post: PostInRoom) -> str:
        """Hash of the model, the state and the questions."""
        asked = [(name, q.instructions, q.criteria) for name, q in questions_for(post).items()]
        whole = json.dumps([self.identity, state_of(post), asked], sort_keys=True)
        return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()

    def read(self, posts: Sequence[PostInRoom]) -> list[Tagged]:
        """What is in posts of no log; their answers are kept no longer than this takes."""
        found = [NOTHING] * len(posts)
        self.untagged = 0
        places = {f"post {n}": n for n in range(len(posts))}

        def heard(placed: Placed, tagged: Tagged | None) -> None:
            if tagged is None:
                self.untagged += 1
            else:
                found[places[placed.room]] = tagged
            bar.update(1)

        asked = (Placed(name, posts[n].round, 0, posts[n]) for name, n in places.items())
        with (
            TemporaryDirectory() as folder,
            Log.open_or_create(Path(folder) / "scratch.duckdb", Study(rooms=1)) as log,
            Writer(log) as writer,
            progress("tag", total=len(posts), unit="post") as bar,
        ):
            asyncio.run(read_all(self, log, writer, asked, heard))
        return found


async def read_all(
    tagger: RemoteTagger,
    log: Log,
    writer: Writer,
    places: Iterable[Placed],
    heard: Callable[[Placed, Tagged | None], None],
) -> None:
    """Read every post: from the answers in the log where they are there, else from the model.

    Parameters
    ----------
    places : iterable of Placed
        Consumed as it goes.
    heard : callable
        Told of each post once, with None when it could not be read.

    Raises
    ------
    swarm.errors.ModelError
        As `Session.ask`. What was answered before is in the log.
    """
    if journal_of(log.path).exists():  # a killed run's, with answers that the log lacks
        await Ledger(log, writer).close(in_order=True)
    todo = _with_stored(tagger, log, places)
    lacking = next((stored for stored in todo if not _read(stored, heard)), None)
    if lacking is None:
        return
    # Only now is the model needed, with its key and its price.
    async with tagger.session(log, writer) as session:
        rest = chain([lacking], todo)

        async def read_on() -> None:
            for stored in rest:
                if not _read(stored, heard):
                    answers = await _ask(tagger, session, stored)
                    post = stored.placed.post
                    heard(stored.placed, None if answers is None else reading_of(post, answers))

        await all_of(read_on() for _ in range(IN_FLIGHT))


@dataclass(frozen=True, slots=True)
class _Stored:
    """A post with what the log holds of it."""

    placed: Placed
    key: str
    attempts: int
    answers: dict[str, Answer] | None


def _with_stored(tagger: RemoteTagger, log: Log, places: Iterable[Placed]) -> Iterator[_Stored]:
    for some in chunked(places, _POSTS_PER_LOOK):
        rows = log.rows(
            "SELECT room, round, seat, key, attempts, answers FROM answers WHERE tagger = ? "
            "AND version = ? AND model = ? AND room IN (SELECT unnest(?)) ORDER BY attempts",
            [tagger.name, tagger.version, tagger.model, list({placed.room for placed in some})],
        )
        held = {tuple(row[:4]): (row[4], row[5]) for row in rows}
        for placed in some:
            key = tagger.key(placed.post)
            attempts, text = held.get((placed.room, placed.round, placed.seat, key), (0, None))
            yield _Stored(placed, key, attempts, None if text is None else _decoded(text))


def _read(stored: _Stored, heard: Callable[[Placed, Tagged | None], None]) -> bool:
    """Read a post whose answers are there; False when they are not."""
    if stored.answers is None:
        return False
    heard(stored.placed, reading_of(stored.placed.post, stored.answers))
    return True


async def _ask(tagger: RemoteTagger, session: Session, stored: _Stored) -> dict[str, Answer] | None:
    """Ask about one post and keep what comes."""
    placed = stored.placed
    found = await session.ask(placed, stored.attempts)
    if found is None:
        return None
    row = (
        *(tagger.name, tagger.version, tagger.model, placed.room, placed.round, placed.seat),
        *(stored.key, found.attempts, None if found.answers is None else _encoded(found.answers)),
        *(found.tokens, found.served_by),
    )
    session.keep({"answers": [row]})
    return found.answers


def _encoded(answers: Mapping[str, Answer]) -> str:
    return json.dumps(
        {
            name: {"choice": answer.choice, "probabilities": answer.probabilities}
            for name, answer in answers.items()
        }
    )


def _decoded(text: str) -> dict[str, Answer]:
    return {name: Answer(**answer) for name, answer in json.loads(text).items()}


def state_of(post: PostInRoom) -> dict[str, Any]:
    """The post with what stood around it, as JSON values; the post is one of them, and data."""
    return {
        "round": post.round,
        "author": post.author,
        "teammates": list(post.teammates),
        "services": list(post.services),
        "changes": [asdict(change) for change in post.changes],
        "post": storable(post.post),
    }


def say_untagged(tagger: str, posts: int, rooms: int | None = None) -> None:
    """One line on standard error about posts that stay untagged; nothing when there are none.

    Parameters
    ----------
    rooms : int, optional
        Rooms of a log that they are in, which a later run takes up again.
    """
    if posts:
        many = "" if posts == 1 else "s"
        where = "" if rooms is None else f" in {rooms} room{'' if rooms == 1 else 's'}"
        again = "" if rooms is None else "; repeat the command to ask again"
        print(  # noqa: T201
            f"swarm: {tagger} gave no readable answers about {posts} post{many}{where}, untagged "
            f"so far{again}",
            file=sys.stderr,
        )
