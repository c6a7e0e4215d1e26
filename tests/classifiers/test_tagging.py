"""The tag stage: what is counted, what is doubted, and when a room is done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tag_runs import found, rows

import classifiers.tagging
from classifiers.directives import (
    Abstaining,
    Change,
    Directive,
    PostInRoom,
    Tagged,
    Tagger,
    tagger_named,
)
from swarm.__main__ import main
from swarm.errors import UsageError
from swarm.log.store import Log
from swarm.pool import Workers

CART, AUTH, D9 = (
    Directive("Bo", "query", "cart"),
    Directive("Cy", "query", "auth"),
    Directive("Cy", "file", "D-9"),
)
POST = PostInRoom(
    1, "Ada", ("Bo", "Cy"), ("cart", "auth"), (Change("D-9", "", "", ""),), "Bo: cart"
)


class Unsure(Tagger):
    """Finds the same in every post: one directive surely, one less so, and doubts a third."""

    name, model = "unsure", "abc"

    def __init__(self, version: str = "1") -> None:
        self.version = version

    def read(self, posts: Sequence[PostInRoom]) -> list[Tagged]:
        made = []
        for post in posts:
            first, second, *_ = post.teammates
            asked = (Directive(first, "query", "cart"), Directive(second, "query", "auth"))
            doubt = (Directive(second, "query", "cart"), 0.2)
            made.append(Tagged(asked, (0.9, 0.4), (doubt,), (f"{first}.change",)))
        return made


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Makes `tag_study` know a tagger "unsure"; its version may be changed in what is returned."""
    known = {"version": "1"}

    def named(name: str, **settings: object) -> Tagger:
        return Unsure(known["version"]) if name == "unsure" else tagger_named(name)

    monkeypatch.setattr(classifiers.tagging, "tagger_named", named)
    return known


def tag(path: Path, abstain_below: float | None = None, tagger: str = "unsure") -> None:
    with Log.open(path) as log, Workers(1) as workers:
        classifiers.tagging.tag_study(log, workers, tagger, abstain_below=abstain_below)


def test_a_directive_below_the_threshold_is_a_doubt() -> None:
    every = Tagged((CART, AUTH, D9), (0.9, None, 0.5), ((AUTH, 0.1),), ("Bo.change",))
    sure = every.abstaining(0.6)
    assert sure.directives == (CART, AUTH)  # nothing is known against the one without a number
    assert sure.probabilities == (0.9, None)
    assert sure.doubts == ((D9, 0.5), (AUTH, 0.1))
    assert sure.contradictions == ("Bo.change",)
    assert every.abstaining(0.5) == every


def test_abstention_counts_what_it_leaves_out() -> None:
    posts = [POST] * 3
    sure, every = Abstaining(Unsure(), 0.5), Abstaining(Unsure(), None)
    assert sure.tag(posts) == [(CART,)] * 3
    assert every.tag(posts) == [(CART, AUTH)] * 3
    assert (sure.counted, sure.found) == (3, 6)
    assert (every.counted, every.found) == (6, 6)


def test_every_column_of_a_post_is_logged(
    unsure: dict[str, str], played: Callable[..., Path]
) -> None:
    path = played()
    tag(path, 0.5)
    seats = "JOIN seats s ON s.room = d.room AND s.seat = d.teammate"
    assert rows(path, "SELECT DISTINCT tagger, kind, target, probability FROM directives") == [
        ("unsure", "query", "cart", 0.9)
    ]
    doubts = rows(path, "SELECT DISTINCT kind, target, probability FROM doubts ORDER BY ALL")
    assert doubts == [("query", "auth", 0.4), ("query", "cart", 0.2)]
    first = rows(
        path,
        f"SELECT DISTINCT s.name FROM directives d {seats} JOIN seats a ON a.room = d.room "
        "AND a.seat = d.seat WHERE a.name = 'Bo'",
    )
    assert first == [("Ada",)]
    assert rows(path, "SELECT DISTINCT question FROM contradictions ORDER BY ALL") == [
        ("Ada.change",), ("Bo.change",)
    ]  # fmt: skip
    ((posts, withheld, count),) = rows(
        path, "SELECT sum(posts), sum(withheld), count(*) FROM tagged WHERE model = 'abc' "
        "AND version = '1' AND abstain_below = 0.5",
    )  # fmt: skip
    assert count == 8
    assert posts == withheld == len(found(path, "unsure"))


@pytest.mark.parametrize("change", ["threshold", "version"])
def test_a_changed_tagger_tags_again_and_takes_back_what_it_led_to(
    change: str,
    unsure: dict[str, str],
    played: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = played()
    tag(path)
    tag(path, tagger="rules")
    with Log.open(path) as log:
        log.con.execute("INSERT INTO leaders (tagger) VALUES ('unsure'), ('rules')")
        log.con.execute("INSERT INTO influences (tagger) VALUES ('unsure'), ('rules')")
    rules = found(path, "rules")
    before = found(path, "unsure")
    tag(path)
    assert capsys.readouterr().err == ""  # the same again is nothing to do
    if change == "version":
        unsure["version"] = "2"
    tag(path, 0.5 if change == "threshold" else None)
    assert "8 rooms were tagged by unsure" in capsys.readouterr().err
    after = found(path, "unsure")
    assert len(after) == len(before) // (2 if change == "threshold" else 1)
    assert len(after) == len(set(after))
    assert found(path, "rules") == rules != []
    assert rows(path, "SELECT tagger FROM leaders UNION ALL SELECT tagger FROM influences") == [
        ("rules",), ("rules",)
    ]  # fmt: skip
    assert rows(path, "SELECT count(*), count(DISTINCT room) FROM tagged WHERE tagger = 'unsure'")[
        0
    ] == (8, 8)


def test_rules_give_no_probability_and_abstain_from_nothing(
    played: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = played()
    monkeypatch.setenv("SWARM_ABSTAIN_BELOW", "0.9")
    assert main(["tag", str(path), "--tagger", "rules", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    count = len(found(path, "rules"))
    assert count > 0
    assert lines[0].startswith(f"{count} directives in ")
    assert lines[1] == f"coverage    1.000 of {count} directives found are counted"
    assert rows(path, "SELECT DISTINCT probability FROM directives") == [(None,)]
    assert rows(path, "SELECT DISTINCT model, abstain_below FROM tagged") == [("", 0.9)]


def test_tag_prints_its_coverage(
    unsure: dict[str, str], played: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = played()
    command = ["tag", str(path), "--tagger", "unsure", "--jobs", "1", "--abstain-below", "0.5"]
    assert main(command) == 0
    count = 2 * len(found(path, "unsure"))
    assert f"coverage    0.500 of {count} directives" in capsys.readouterr().out


@pytest.mark.parametrize("threshold", ["1.5", "-0.1", "x"])
def test_a_threshold_is_a_probability(threshold: str, tmp_path: Path) -> None:
    assert main(["tag", str(tmp_path / "none"), "--abstain-below", threshold]) == 2


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("psychic", {}, "there is rules, learned, llm, jev"),
        ("rules", {"model": "x"}, "'rules' takes no --tagger-model"),
        ("rules", {"api_base": "x"}, "'rules' takes no --tagger-api-base"),
        ("llm", {}, "--tagger-model NAME"),
        ("llm", {"model": "openai/x", "api_base": "elsewhere"}, "'elsewhere' is no address"),
    ],
)
def test_what_a_tagger_lacks_or_does_not_take_is_named(
    name: str, settings: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        tagger_named(name, models={}, **settings)


def test_choosing_a_tagger_costs_no_library_of_another() -> None:
    code = (
        "import sys; import classifiers.tagging; from classifiers.directives import tagger_named; "
        "tagger_named('rules'); tagger_named('jev'); "
        "print({'litellm', 'typesafe_sdk', 'sklearn', 'classifiers.learned'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
