"""The one writer that a log has.

Rows that belong together (a finished room of surrogates, a paid turn) are handed over in one batch
and committed together, so a killed process leaves whole rooms or whole turns behind. Commits are
grouped: at most every 250 ms, or when 2,000 rows wait.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import pyarrow as pa

from swarm.log.store import Log, commit
from swarm.log.tables import Batch, batch_of
from swarm.scenario import Rows

GROUP_SECONDS = 0.25
GROUP_ROWS = 2000
_WAITING_BATCHES = 64  # back-pressure on producers: a handful of rooms each


@dataclass(frozen=True, slots=True)
class _Item:
    rows: Batch | Rows
    done: Callable[[], None]  # when it was tried
    committed: Callable[[], None] | None = None


class Writer:
    """The log's one writer: a thread that commits batches in groups.

    Use as a context manager; leaving it commits what waits. An error of the thread is raised by
    the next `put` or at the end.
    """

    def __init__(self, log: Log) -> None:
        self._con = log.cursor()
        self._waiting: queue.Queue[_Item | None] = queue.Queue()
        self._room = threading.Semaphore(_WAITING_BATCHES)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="log writer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def put(self, batch: Batch) -> None:
        """Hand over rows that must be committed together; waits when the writer is far behind."""
        self._check()
        if batch:
            self._room.acquire()
            self._waiting.put(_Item(batch, self._room.release))

    def put_rows(self, rows: Rows) -> None:
        """As `put`, for a few rows of a live room; never waits."""
        self._check()
        if rows:
            self._waiting.put(_Item(rows, lambda: None))

    def put_durably(self, rows: Rows, committed: Callable[[], None]) -> None:
        """As `put_rows`; `committed` is called, from the writer's thread, once the log has them."""
        self._check()
        self._waiting.put(_Item(rows, lambda: None, committed))

    def flush(self) -> None:
        """Return when everything handed over before is committed."""
        reached = threading.Event()
        self._waiting.put(_Item({}, reached.set))
        reached.wait()
        self._check()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._waiting.put(None)
        self._thread.join()
        self._con.close()
        if self._error is not None and error is None:
            raise self._error

    def _run(self) -> None:
        ended = False
        while not ended:
            group, ended = self._next_group()
            if group and self._error is None:
                try:
                    commit(self._con, _merged([item.rows for item in group]))
                    for item in group:
                        if item.committed is not None:
                            item.committed()
                except BaseException as error:  # noqa: BLE001  handed to the producer
                    self._error = error
            for item in group:
                item.done()

    def _next_group(self) -> tuple[list[_Item], bool]:
        """Rows to commit together, and whether they are the last ones."""
        group: list[_Item] = []
        rows, deadline = 0, None
        while rows < GROUP_ROWS:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                item = self._waiting.get(timeout=wait)
            except queue.Empty:
                return group, False
            if item is None:
                return group, True
            group.append(item)
            rows += sum(len(table) for table in item.rows.values())
            if len(group) == _WAITING_BATCHES:
                return group, False
            if deadline is None:
                deadline = time.monotonic() + GROUP_SECONDS
        return group, False


def _merged(group: list[Batch | Rows]) -> Batch:
    lists: Rows = {}
    arrow: dict[str, list[pa.Table]] = {}
    for rows in group:
        for table, given in rows.items():
            if isinstance(given, list):
                lists.setdefault(table, []).extend(given)
            else:
                arrow.setdefault(table, []).append(given)
    for table, made in batch_of(lists).items():
        arrow.setdefault(table, []).append(made)
    return {table: pa.concat_tables(parts) for table, parts in arrow.items()}
