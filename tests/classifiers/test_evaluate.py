"""Figures of a tagger on labelled posts, and the corpus that they are taken on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from classifiers.directives import Directive, PostInRoom, Tagged, Tagger
from classifiers.evaluate import evaluate, read_labelled
from swarm.__main__ import main
from swarm.errors import UsageError

CORPUS = Path(__file__).parents[2] / "classifiers" / "corpora"


class Fixed(Tagger):
    """Tags each post with what it was told, whatever the post."""

    name, version, model = "fixed", "1", ""

    def __init__(self, tags: dict[str, list[tuple[str, str, str]]]) -> None:
        self._tags = tags

    def read(self, posts: Sequence[PostInRoom]) -> list[Tagged]:
        found = [
            tuple(Directive(*tag) for tag in self._tags[p.post])  # type: ignore[arg-type]
            for p in posts
        ]
        return [Tagged(directives, (None,) * len(directives)) for directives in found]


def labelled(tmp_path: Path, *lines: dict[str, object]) -> Path:
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_precision_recall_and_exact_match_count_what_they_say(tmp_path: Path) -> None:
    path = labelled(
        tmp_path,
        {"post": "a", "author": "Ada", "directives": [["Bo", "query", "cart"]]},
        {
            "post": "b",
            "author": "Bo",
            "directives": [["Cy", "file", "D-1"], ["Cy", "query", "auth"]],
        },
        {"post": "c", "author": "Cy", "directives": []},
    )
    tagger = Fixed(
        {
            "a": [("Bo", "query", "cart")],
            "b": [("Cy", "file", "D-1")],
            "c": [("Bo", "query", "cart"), ("Dee", "query", "cart")],
        }
    )
    found = evaluate(tagger, read_labelled(path))
    assert (found.posts, found.directives) == (3, 3)
    assert found.precision == pytest.approx(2 / 4)
    assert found.recall == pytest.approx(2 / 3)
    assert found.exact_match == pytest.approx(1 / 3)
    assert found.filings == {"directives": 1.0, "precision": 1.0, "recall": 1.0}
    assert [error["post"] for error in found.errors] == ["b", "c"]
    assert found.errors[0]["missed"] == [["Cy", "query", "auth"]]
    assert found.precision_ci[0] < found.precision < found.precision_ci[1]


def test_intervals_are_clustered_by_post(tmp_path: Path) -> None:
    """Forty directives of two posts are not forty observations."""
    many = [["Bo", "query", s] for s in ("cart", "payments", "search", "checkout", "email")]
    path = labelled(
        tmp_path,
        *({"post": f"right {k}", "author": "Ada", "directives": many} for k in range(4)),
        *({"post": f"wrong {k}", "author": "Ada", "directives": many} for k in range(4)),
    )
    right = [(who, kind, what) for who, kind, what in many]
    tags = {f"right {k}": right for k in range(4)} | {f"wrong {k}": [] for k in range(4)}
    low, high = evaluate(Fixed(tags), read_labelled(path)).recall_ci  # type: ignore[arg-type]
    assert high - low > 0.5  # a directive-wise interval would be .31 wide


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 is no JSON object"),
        ('{"author": "Ada", "directives": []}', "line 2: no labelled post"),
        ('{"post": "x", "author": "Ada", "directives": [["Bo", "ask", "cart"]]}', "'ask'"),
        ('{"post": 3, "author": "Ada", "directives": []}', "line 2: no labelled post"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "posts.jsonl"
    path.write_text('{"post": "x", "author": "Ada", "directives": []}\n' + line + "\n")
    with pytest.raises(UsageError, match=says):
        read_labelled(path)


def test_the_command_prints_the_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"post": "Bo: cart, \x1b[2J D-466", "author": "Ada", "directives": []}
    path = labelled(tmp_path, line)
    assert main(["tag-eval", str(path), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert set(figures) == {
        "posts", "directives", "precision", "recall", "exact_match", "precision_ci", "recall_ci",
        "filings", "calibration", "posts_per_second", "errors", "coverage",
    }  # fmt: skip
    assert main(["tag-eval", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert main(["tag-eval", str(tmp_path / "none.jsonl")]) == 2


def test_the_corpus_keeps_its_conventions() -> None:
    posts = [json.loads(line) for line in (CORPUS / "posts.jsonl").open(encoding="utf-8")]
    rooms = {
        room["room"]: room
        for room in map(json.loads, (CORPUS / "rooms.jsonl").open(encoding="utf-8"))
    }
    assert len(posts) >= 3000
    assert len(rooms) >= 120
    assert len({post["writer"] for post in posts}) >= 6
    splits: dict[str, set[str]] = {}
    for post in posts:
        room = rooms[post["room"]]
        assert post["split"] == room["split"]
        splits.setdefault(post["writer"], set()).add(post["split"])
        assert 1 <= len(post["post"]) <= 280
        assert post["author"] in room["names"]
        ids = {change[0] for change in room["changes"]}
        for teammate, kind, target in post["directives"]:
            assert teammate in room["names"]
            assert teammate != post["author"]
            assert target in (room["services"] if kind == "query" else ids)
    assert all(len(of_writer) == 1 for of_writer in splits.values())
    assert len({post["post"] for post in posts}) == len(posts)


def test_the_second_labelling_agrees_as_the_readme_says() -> None:
    lines = (CORPUS / "posts.jsonl").read_text(encoding="utf-8").splitlines()
    second = [json.loads(line) for line in (CORPUS / "second.jsonl").open(encoding="utf-8")]
    same = sum(
        sorted(json.loads(lines[again["line"]])["directives"]) == sorted(again["directives"])
        for again in second
    )
    assert (same, len(second)) == (2517, 2564)
