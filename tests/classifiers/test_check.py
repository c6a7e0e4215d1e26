"""The check against what scripted agents meant: what is drawn, what is counted, who is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from classifiers.check import INTENDED, check_tagger, leaders_of, take_intended
from classifiers.tagging import tag_study
from swarm.__main__ import main
from swarm.errors import UsageError
from swarm.log.store import Log
from swarm.pool import Workers
from swarm.runner import play_study
from swarm.study import Study


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Eight rooms, tagged by the rules and by what was meant."""
    path = tmp_path_factory.mktemp("check") / "log.duckdb"
    made = Log.open_or_create(path, Study(rooms=8, seed=5))
    with Workers(1) as workers:
        play_study(made, workers)
        for tagger in ("rules", INTENDED):
            tag_study(made, workers, tagger)
    return made


def test_what_was_meant_becomes_directives(log: Log) -> None:
    meant = log.rows(
        "SELECT DISTINCT i.room, i.round, i.seat, s.seat, i.kind, i.target FROM intents i "
        "JOIN seats s ON s.room = i.room AND s.name = i.teammate ORDER BY ALL"
    )
    assert len(meant) > 50
    assert meant == log.rows(
        "SELECT room, round, seat, teammate, kind, target FROM directives "
        "WHERE tagger = 'intended' ORDER BY ALL"
    )
    assert log.value("SELECT count(*) FROM tagged WHERE tagger = 'intended'") == 8


def test_a_second_time_enters_nothing(log: Log) -> None:
    before = log.value("SELECT count(*) FROM directives")
    take_intended(log)
    assert log.value("SELECT count(*) FROM directives") == before


def test_the_truth_agrees_with_itself(log: Log) -> None:
    found = check_tagger(log, INTENDED)
    assert found.posts == 60
    assert found.meant == found.tagged == found.both > 0


def test_posts_are_drawn_by_round_and_seed(log: Log) -> None:
    early = check_tagger(log, "rules", posts=30, first_round=30)
    late = check_tagger(log, "rules", posts=30, first_round=0)
    assert (early.posts, late.posts) == (30, 30)
    assert early == check_tagger(log, "rules", posts=30, first_round=30)
    others = [check_tagger(log, "rules", posts=30, first_round=0, random_state=k) for k in range(5)]
    assert len(set(others)) > 1
    everything = check_tagger(log, "rules", posts=10_000, first_round=5_000)
    posts = "SELECT count(*) FROM turns WHERE post_block IS NOT NULL"
    assert everything.posts == log.value(posts)


def test_a_missed_and_a_false_directive_are_counted(tmp_path: Path) -> None:
    with Log.open_or_create(tmp_path / "log", Study(rooms=2, seed=5)) as log:
        with Workers(1) as workers:
            play_study(log, workers)
            tag_study(log, workers, INTENDED)
        whole = {"posts": 10_000, "first_round": 5_000}
        before = check_tagger(log, INTENDED, **whole)
        log.con.execute("DELETE FROM directives WHERE rowid IN (SELECT min(rowid) FROM directives)")
        log.con.execute(
            "INSERT INTO directives SELECT tagger, room, round, seat, teammate, 'file', 'D-0', "
            "NULL FROM directives WHERE rowid IN (SELECT max(rowid) FROM directives)"
        )
        after = check_tagger(log, INTENDED, **whole)
    assert (after.meant, after.tagged) == (before.meant, before.tagged)
    assert after.both == before.both - 1


def test_who_cannot_be_checked_is_refused(log: Log, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not tagged by learned; run `python -m swarm tag "):
        check_tagger(log, "learned")
    model = {"model": "openai/x", "path": "direct", "api_base": "http://127.0.0.1:1"}
    study = Study(rooms=1, models={"x": model}, lineup=("x",))
    with (
        Log.open_or_create(tmp_path / "live", study) as live,
        pytest.raises(UsageError, match="scripted agents only; this study has live models: x"),
    ):
        take_intended(live)


def test_leaders_are_none_until_they_are_attributed(log: Log) -> None:
    assert leaders_of(log, "rules", "published") == set()


def test_the_command_tables_both(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    log.close()
    path = str(log.path)
    for tagger in ("rules", INTENDED):
        assert main(["replay", path, "--tagger", tagger, "--jobs", "1"]) == 0
        assert main(["attribute", path, "--tagger", tagger]) == 0
    capsys.readouterr()
    assert main(["tag-check", path, "--tagger", "rules"]) == 0
    told = capsys.readouterr().out
    assert "35/39" in told
    assert "60, 40 of round 1" in told
