"""Calls that ended, safe from a kill before the log has them.

The log commits in groups, a few times a second; a reply that waited for that would be lost with the
process and paid for again. So it is written here first: one small insert into a SQLite file beside
the log. What the log has committed is dropped again, and at an orderly end the file is removed. A
run that finds one puts what it holds into the log.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from pathlib import Path

from swarm.errors import LogError
from swarm.scenario import Rows

_DROPPED_AT_ONCE = 64  # entries; what is in both is put into the log once


def journal_of(log: Path) -> Path:
    """Where the journal of the log at `log` is."""
    return log.with_name(f"{log.name}.calls")


class Journal:
    """Rows that the log does not have yet.

    An insert is in the operating system's hands when `add` returns: it outlives the process, and a
    loss of power up to the last time that SQLite synced its file.

    Raises
    ------
    LogError
        When the file is no journal, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._committed = self._dropped = 0
        try:
            self._con = sqlite3.connect(path, isolation_level=None)
            self._con.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._con.execute("PRAGMA journal_mode = WAL")
            self._con.execute("PRAGMA synchronous = NORMAL")
            self._con.execute(
                "CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, rows TEXT)"
            )
        except sqlite3.Error as error:
            raise LogError(
                f"{path}, calls of an earlier run, cannot be used ({error}); mend or move it away "
                "(the calls in it are then paid for again)"
            ) from error

    def entries(self) -> list[Rows]:
        """What was added and not dropped, oldest first."""
        held = self._con.execute("SELECT rows FROM entries ORDER BY number")
        return [json.loads(rows) for (rows,) in held]

    def add(self, rows: Rows) -> int:
        """Keep `rows`; returns their number for `committed`.

        Raises
        ------
        LogError
            When the disk takes no more.
        """
        try:
            if self._committed >= self._dropped + _DROPPED_AT_ONCE:
                self._dropped = self._committed
                self._con.execute("DELETE FROM entries WHERE number <= ?", (self._dropped,))
            held = self._con.execute("INSERT INTO entries (rows) VALUES (?)", (json.dumps(rows),))
        except sqlite3.Error as error:
            raise LogError(f"cannot write {self.path}: {error}") from error
        assert held.lastrowid is not None
        return held.lastrowid

    def committed(self, number: int) -> None:
        """The log holds everything up to `number`. May be called from any thread."""
        self._committed = number

    def close(self, *, remove: bool) -> None:
        """Let go of the file; `remove` it when the log holds everything."""
        self._con.close()
        if remove:
            with suppress(OSError):
                self.path.unlink()
