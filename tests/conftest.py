"""Logs that many tests read: made once a session, because playing costs more than reading.

``small_log`` is for tests that only look; ``small_log_path`` gives a test a copy of its own that it
may write, break or hand to a command. ``finish`` runs the stages on an open log; ``digests`` says
whether two logs hold the same.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from analysis.influence import attribute
from classifiers.tagging import tag_study
from replays.replaying import replay_study
from swarm.log.store import Log
from swarm.pool import Workers
from swarm.runner import play_study
from swarm.study import Study

settings.register_profile("swarm", deadline=None)  # shared machines are slow now and then
settings.load_profile("swarm")

SMALL = Study(rooms=40, seed=5)


def _finish(log: Log, jobs: int = 1) -> None:
    with Workers(jobs) as workers:
        play_study(log, workers)
        tag_study(log, workers, "rules")
        replay_study(log, workers, tagger="rules", schedule="published")
        attribute(log, tagger="rules", schedule="published")


@pytest.fixture(scope="session")
def finish() -> Callable[..., None]:
    """``finish(log, jobs=1)`` plays, tags, replays and attributes what an open log lacks."""
    return _finish


def _digests(log: Log) -> dict[str, str]:
    tables = log.rows("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL")
    return {
        table: log.value(
            "SELECT count(*) || ' rows ' || coalesce(md5(string_agg(t::VARCHAR, chr(10) "
            f"ORDER BY t::VARCHAR)), 'none') FROM \"{table}\" t"
        )
        for (table,) in tables
    }


@pytest.fixture(scope="session")
def digests() -> Callable[[Log], dict[str, str]]:
    """``digests(log)``: for each table, its number of rows and an MD5 over its sorted rows."""
    return _digests


@pytest.fixture(scope="session")
def small_log_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished, closed log of 40 rooms under seed 5; copy it, never open it."""
    path = tmp_path_factory.mktemp("small") / "small.duckdb"
    with Log.open_or_create(path, SMALL) as log:
        _finish(log)
    return path


@pytest.fixture(scope="session")
def small_log(small_log_file: Path) -> Iterator[Log]:
    """The finished log of 40 rooms, open for reading only.

    Study seed 5; played, tagged by ``rules``, replayed by ``published``, attributed.
    """
    mine = shutil.copy(small_log_file, small_log_file.with_name("read.duckdb"))
    with Log.open(Path(mine), read_only=True) as log:
        yield log


@pytest.fixture
def small_log_path(small_log_file: Path, tmp_path: Path) -> Callable[..., Path]:
    """A factory: ``small_log_path("name")`` is a fresh closed copy of `small_log` in tmp_path."""

    def copy(name: str = "copy.duckdb") -> Path:
        return Path(shutil.copy(small_log_file, tmp_path / name))

    return copy
