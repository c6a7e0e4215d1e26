"""The tagger `jev`: one request a post, faults that are borne, faults that stop it in one line."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from serving import Server
from tag_runs import found, killed, posts, rows, sayable
from typesafe_server import key_of

import classifiers.jev
from classifiers.directives import Change, PostInRoom, tagger_named
from swarm.__main__ import main
from swarm.errors import ModelError
from swarm.log.journal import Journal, journal_of

JEV = ("--tagger", "jev", "--jobs", "1")
SECRET = "ts-marked-secret"


def tag(path: Path, *more: str, code: int = 0) -> None:
    assert main(["tag", str(path), *JEV, *more]) == code


def one_post(path: Path) -> tuple[str, str]:
    """A room, and a post of it that is part of no other post."""
    every = rows(path, "SELECT room, post FROM posts ORDER BY ALL")
    return next(
        (room, post) for room, post in every if sum(post in other for _, other in every) == 1
    )


def each_once(path: Path) -> dict[str, int]:
    """What the server delivers when every post of the log is answered once."""
    return Counter(key_of(*post) for post in rows(path, "SELECT round, author, post FROM posts"))


def assert_all_tagged(path: Path) -> None:
    """As if nothing had gone wrong."""
    if rows(path, "SELECT count(*) FROM tagged WHERE tagger = 'rules'") == [(0,)]:
        assert main(["tag", str(path), "--tagger", "rules", "--jobs", "1"]) == 0
    assert found(path, "jev") == sayable(path) != []
    assert rows(path, "SELECT count(*) FROM tagged WHERE tagger = 'jev'") == [(8,)]
    assert rows(path, "SELECT count(*) FROM answers") == [(posts(path),)]


def assert_secret(path: Path, *texts: str) -> None:
    assert all(SECRET not in text for text in texts)
    for file in path.parent.glob(f"{path.name}*"):
        assert SECRET.encode() not in file.read_bytes()


def test_one_request_a_post_asks_all_questions(
    jev_server: Server, played: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = played()
    tag(path)
    assert "coverage    1.000" in capsys.readouterr().out
    assert_all_tagged(path)
    books = jev_server.books()
    assert books["asked"] == books["answered"] == posts(path)
    assert set(books["last"]["state"]) == {
        "round", "author", "teammates", "services", "changes", "post"
    }  # fmt: skip
    assert len(books["last"]["questions"]) == 4 * 7
    assert books["last"]["model"] == "jev-latest"
    assert books["last_header"] == f"Bearer {SECRET}"
    (probability,) = rows(path, "SELECT DISTINCT probability FROM directives WHERE tagger = 'jev'")
    assert probability == (pytest.approx(0.81),)  # of a step and of a target
    assert rows(path, "SELECT DISTINCT model, served_by, tokens, attempts FROM answers") == [
        ("jev-latest", "jev-test-1", 100, 1)
    ]
    assert rows(path, "SELECT DISTINCT model FROM tagged WHERE tagger = 'jev'") == [("jev-latest",)]
    assert_secret(path)


def test_the_model_and_the_address_can_be_given(
    jev_server: Server, played: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TYPESAFE_BASE_URL", "http://127.0.0.1:9")
    path = played()
    tag(path, "--tagger-model", "mine-2", "--tagger-api-base", jev_server.root)
    assert jev_server.books()["last"]["model"] == "mine-2"
    assert_all_tagged(path)


def test_answers_that_are_there_need_no_server_and_no_key(
    jev_server: Server, played: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = played()
    tag(path)
    every, asked = found(path, "jev"), jev_server.books()["asked"]
    monkeypatch.delenv("TYPESAFE_API_KEY")
    tag(path, "--abstain-below", "0.9")
    assert found(path, "jev") == []
    assert rows(path, "SELECT count(*) FROM doubts WHERE probability > 0.8") == [(len(every),)]
    tag(path, "--abstain-below", "0.8")
    assert found(path, "jev") == every
    assert jev_server.books()["asked"] == asked


@pytest.mark.parametrize("kind", ["429", "500", "503", "close", "hang", "invalid JSON"])
def test_a_passing_fault_is_borne(
    kind: str,
    jev_server: Server,
    played: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(classifiers.jev, "TIMEOUT", 2.0)
    path = played()
    jev_server.control(script=["", kind, "", kind])
    tag(path)
    assert capsys.readouterr().err == ""
    books = jev_server.books()
    assert books["kinds"] == {kind: 2}
    assert books["delivered"] == each_once(path)
    assert_all_tagged(path)


def test_a_retry_after_is_waited_for_by_all_requests(
    jev_server: Server, played: Callable[..., Path]
) -> None:
    path = played()
    jev_server.control(script=["429 with Retry-After"], retry_after="1.2")
    tag(path)
    times = jev_server.books()["times"]
    pause = max(after - before for before, after in pairwise(times))
    assert 1.1 <= pause < 5
    assert_all_tagged(path)


@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_a_request_that_never_ends_is_given_up(
    kind: str,
    jev_server: Server,
    played: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(classifiers.jev, "TIMEOUT", 1.0)
    monkeypatch.setattr(classifiers.jev, "TRIES", {"load": 3, "unreadable": 2, "other": 2})
    path = played()
    room, post = one_post(path)
    jev_server.control(sticky={post: kind})
    tag(path)
    assert "about 1 post in 1 room" in capsys.readouterr().err
    assert jev_server.books()["kinds"] == {kind: 2}
    assert room not in [room for (room,) in rows(path, "SELECT room FROM tagged")]


@pytest.mark.parametrize(
    "kind", ["missing answers", "unknown option", "odd probability", "not a number", "422"]
)
def test_answers_that_cannot_be_read_leave_their_post_for_a_later_run(
    kind: str, jev_server: Server, played: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = played()
    room, post = one_post(path)
    jev_server.control(sticky={post: kind})
    tag(path)
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "jev gave no readable answers about 1 post in 1 room" in line
    assert jev_server.books()["kinds"] == {kind: 1 if kind == "422" else 2}
    assert len(rows(path, "SELECT room FROM tagged")) == 7
    assert rows(path, f"SELECT room FROM directives WHERE room = '{room}'") == []
    assert rows(path, "SELECT count(*) FROM answers") == [(posts(path) - 1,)]
    jev_server.control(sticky={})
    asked = jev_server.books()["asked"]
    tag(path)
    assert jev_server.books()["asked"] == asked + 1
    assert_all_tagged(path)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("401", "the key in TYPESAFE_API_KEY is refused"),
        ("402", "top it up"),
        ("403", "may not use model 'jev-latest'"),
        ("403 text", "a proxy or firewall on the way"),
        ("404", "mend --tagger-model or TYPESAFE_BASE_URL"),
    ],
)
def test_a_refusal_that_all_would_meet_stops_it_and_loses_nothing(
    kind: str,
    says: str,
    jev_server: Server,
    played: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = played()
    jev_server.control(script=[*[""] * 60, *[kind] * 40])
    tag(path, code=2)
    out, errors = capsys.readouterr()
    (line,) = errors.strip().splitlines()
    assert says in line
    assert line.endswith("repeat the command, it goes on from there")
    assert_secret(path, out, errors)
    ((held,),) = rows(path, "SELECT count(*) FROM answers")
    assert held == jev_server.books()["answered"] > 50
    jev_server.control(script=[])
    tag(path)
    assert jev_server.books()["delivered"] == each_once(path)
    assert_all_tagged(path)


def test_a_server_that_refuses_whatever_it_is_asked_stops_it(
    jev_server: Server, played: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = played()
    jev_server.control(script=["422"] * 500)
    tag(path, code=2)
    assert "refused the first 5 requests (status 422)" in capsys.readouterr().err
    assert jev_server.books()["asked"] < 50


def test_a_server_that_is_not_there_is_waited_for_and_then_named(
    jev_server: Server,
    played: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TYPESAFE_BASE_URL", "http://127.0.0.1:9")
    breaker = classifiers.jev.Breaker
    monkeypatch.setattr(
        classifiers.jev, "Breaker", lambda name: breaker(name, first_pause=0.1, patience=0.5)
    )
    path = played()
    tag(path, code=2)
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "jev has not answered" in line


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("TYPESAFE_API_KEY", "", "TYPESAFE_API_KEY is empty; put the key there"),
        ("TYPESAFE_API_KEY", "two words", "is no key"),
        ("TYPESAFE_BASE_URL", "nowhere", "TYPESAFE_BASE_URL is no address"),
    ],
)
def test_what_the_environment_lacks_is_one_line(
    variable: str,
    value: str,
    says: str,
    jev_server: Server,
    played: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, value)
    tag(played(), code=2)
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert says in line
    assert "two words" not in line
    assert jev_server.books()["asked"] == 0


def test_without_the_client_it_says_what_to_install_before_a_room_is_played(
    jev_server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "typesafe_sdk", None)
    command = ["run", "--rooms", "2", "--out", str(tmp_path / "run.duckdb"), "--tagger", "jev"]
    assert main(command) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "pip install 'swarm-rooms[jev]'" in line
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_loses_no_answer(
    jev_server: Server, played: Callable[..., Path], tmp_path: Path
) -> None:
    path = played("killed.duckdb")
    jev_server.control(latency=0.02)
    kills = sum(killed(path, jev_server, n * posts(path) // 4, *JEV) for n in (1, 2, 3))
    tag(path)
    books = jev_server.books()
    assert kills >= 2
    assert books["delivered"].keys() == each_once(path).keys()
    # What the server has answered and the run has not yet read counts as under way.
    assert 0 <= books["answered"] - posts(path) <= kills * classifiers.jev.CONCURRENCY
    assert_all_tagged(path)
    assert not list(tmp_path.glob("*.calls*"))


def test_an_answer_is_safe_before_the_log_commits_it(
    jev_server: Server, played: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = played()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("swarm.log.writer.commit", full)
    with pytest.raises(OSError, match="No space"):
        tag(path)
    monkeypatch.undo()
    monkeypatch.setenv("TYPESAFE_API_KEY", SECRET)
    monkeypatch.setenv("TYPESAFE_BASE_URL", jev_server.root)
    assert rows(path, "SELECT * FROM answers") == []
    journal = Journal(journal_of(path))
    held = len(journal.entries())
    journal.close(remove=False)
    assert held > 5
    asked = jev_server.books()["asked"]
    tag(path)
    assert jev_server.books()["asked"] == asked + posts(path) - held
    assert_all_tagged(path)


def test_requests_at_once_are_bounded(
    jev_server: Server, played: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifiers.jev, "CONCURRENCY", 4)
    jev_server.control(latency=0.005)
    path = played()
    tag(path)
    assert 2 <= jev_server.books()["most_at_once"] <= 4
    assert_all_tagged(path)


def test_a_question_of_too_many_options_is_named(jev_server: Server) -> None:
    changes = tuple(Change(f"D-{k}", "cart", "deploy", "14:01") for k in range(256))
    post = PostInRoom(1, "Ada", ("Bo",), ("cart",), changes[:254], "Bo: cart")
    assert len(tagger_named("jev").tag([post])[0]) == 1  # 254 changes and none
    post = PostInRoom(1, "Ada", ("Bo",), ("cart",), changes[:255], "Bo: cart")
    with pytest.raises(ModelError, match="at most 255 options a question"):
        tagger_named("jev").tag([post])


def test_tag_eval_asks_it_and_any_text_gets_through(
    jev_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = 'Bo: cart "}], \\ \u2028 \x00 \ud800 asset-0'
    lines = [
        {"post": odd, "author": "Ada", "directives": [["Bo", "query", "cart"]]},
        {"post": "Cy please file D-12", "author": "Bo", "directives": [["Cy", "file", "D-12"]]},
    ]
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["tag-eval", str(path), "--tagger", "jev", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["precision"], figures["recall"], figures["coverage"]) == (1, 1, 1)
    sent = [key.partition(" Ada ")[2] for key in jev_server.books()["delivered"]]
    assert odd.replace("\ud800", "\ufffd") in sent
