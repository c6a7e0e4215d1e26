"""Checks a log against itself: every room played again from its replies, without a model.

Whatever the log holds of a room beside the replies (prompts, posts, cards, refusals, filings, how
it ended) follows from them by the rules. So a difference means that the log was changed, that the
rules were, or that there is a bug.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from swarm.design import RoomSpec
from swarm.log.store import Log
from swarm.log.tables import batch_of
from swarm.models.recorded import records_of
from swarm.progress import progress
from swarm.runner import chunked, replayed_rows
from swarm.scenario import Rows

DERIVED = ("turns", "prompts", "discarded", "refusals", "cards", "filings", "outcomes")
"""Tables whose rows follow from the replies."""

_ROOMS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Difference:
    """A table of a room that is not what its replies make of it.

    Attributes
    ----------
    room, table : str
    missing, extra : tuple
        Rows that should be in the log and are not, and the other way round.
    """

    room: str
    table: str
    missing: tuple[tuple[Any, ...], ...]
    extra: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        return (
            f"{self.room}: {self.table} differs: {len(self.missing)} rows missing, "
            f"{len(self.extra)} that should not be; first: {(self.missing or self.extra)[0]!r:.200}"
        )


def verify(log: Log) -> Iterator[Difference]:
    """Every difference between the log's finished rooms and what their replies make of them.

    A room that asks for a reply which the log does not hold differs in its turns.
    """
    ours = {spec.room for spec in log.study.specs()}
    for table in ("rooms", "seats", *DERIVED):
        for room, count in log.rows(f'SELECT room, count(*) FROM "{table}" GROUP BY room'):
            if room not in ours:
                yield Difference(room, table, (), ((count, "rows of a room the study has not"),))
    finished = {room for (room,) in log.rows("SELECT room FROM outcomes")}
    specs = (spec for spec in log.study.specs() if spec.room in finished)
    with progress("verify", total=len(finished)) as bar:
        for some in chunked(specs, _ROOMS_AT_ONCE):
            yield from _differences(log, some)
            bar.update(len(some))


def _differences(log: Log, specs: tuple[RoomSpec, ...]) -> Iterator[Difference]:
    rooms = [spec.room for spec in specs]
    records = records_of(log, rooms)
    held = {table: _held(log, table, rooms) for table in DERIVED}
    derived: dict[str, Rows] = {}
    for spec in specs:
        try:
            derived[spec.room] = replayed_rows(log, spec, records.get(spec.room, {}))
        except LookupError as error:
            yield Difference(spec.room, "turns", ((str(error),),), ())
    yield from _block_differences(log, derived)
    for room, rows in derived.items():
        for table in DERIVED:
            made = batch_of({table: rows[table]})[table].to_pylist() if rows.get(table) else []
            want, have = Counter(map(_comparable, made)), held[table].get(room, Counter())
            if want != have:
                missing, extra = (want - have).elements(), (have - want).elements()
                yield Difference(room, table, tuple(missing), tuple(extra))


def _held(log: Log, table: str, rooms: list[str]) -> dict[str, Counter[tuple[Any, ...]]]:
    """Rows of `table` by room."""
    found: dict[str, Counter[tuple[Any, ...]]] = {}
    for row in log.rows(f'SELECT * FROM "{table}" WHERE room IN (SELECT unnest(?))', [rooms]):
        found.setdefault(row[0], Counter())[_hashable(row)] += 1
    return found


def _block_differences(log: Log, derived: dict[str, Rows]) -> Iterator[Difference]:
    wanted = {block[0] for rows in derived.values() for block in rows.get("blocks", ())}
    held = {
        row[0]: row
        for row in log.rows(
            "SELECT block, kind, text FROM blocks WHERE block IN (SELECT unnest(?::UBIGINT[]))",
            [list(wanted)],
        )
    }
    for room, rows in derived.items():
        missing = tuple(row for row in rows.get("blocks", ()) if held.get(row[0]) != row)
        if missing:
            yield Difference(room, "blocks", missing, ())


def _comparable(row: dict[str, Any]) -> tuple[Any, ...]:
    return _hashable(row.values())


def _hashable(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)
