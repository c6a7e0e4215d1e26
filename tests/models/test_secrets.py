"""A key is sent to its provider and seen nowhere else, whatever goes wrong.

The server repeats the key in each of its error messages, as some providers do.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest
from calling import call, draws, settings_for
from fault_server import KINDS
from kill_live import write_study
from serving import Server

from swarm.__main__ import main

KEY = "sk-marked-4f2a9c77e1"
PATHS = ("direct", "litellm")
STOPPING = ("401", "403", "402", "404", "insufficient_quota")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKED_KEY", KEY)


def assert_nowhere(folder: Path, *texts: str) -> None:
    """The key, or half of it, is in no file of `folder` and in none of the texts."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for part in (KEY, KEY[:12], KEY[10:]):
        assert [path for path in files if part.encode() in path.read_bytes()] == []
        assert [text for text in texts if part in text] == []


def told(error: BaseException) -> str:
    """All that an exception could show: its text, its attributes and its traceback."""
    return "".join([*traceback.format_exception(error), repr(error), repr(vars(error))])


@pytest.mark.parametrize("path", PATHS)
def test_the_key_is_sent_and_the_log_of_all_faults_does_not_hold_it(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str], path: str
) -> None:
    kinds = [kind for kind in (*KINDS, "400") if kind not in STOPPING]
    server.control(script=kinds)
    settings = settings_for(server.base, path, key_env="MARKED_KEY", timeout=0.5)
    found = call(tmp_path / "log", settings, draws(16))
    assert found.error is None
    assert server.books()["last_header"] == f"Bearer {KEY}"
    assert len(found.faults) == 9 + 1
    assert_nowhere(tmp_path, *capfd.readouterr(), repr(found))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", STOPPING)
def test_what_stops_a_study_does_not_show_the_key(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str], path: str, kind: str
) -> None:
    server.control(script=[kind])
    found = call(tmp_path / "log", settings_for(server.base, path, key_env="MARKED_KEY"))
    assert found.error is not None
    assert_nowhere(tmp_path, told(found.error), *capfd.readouterr())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("where", ["transport", "gateway"])
def test_a_bug_in_the_middle_of_a_call_does_not_show_the_key(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    path: str,
    where: str,
) -> None:
    def crash(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a bug")

    if where == "gateway":
        monkeypatch.setattr("swarm.models.live.LiveModel.reply_of", crash)
    else:
        module = {"direct": "direct", "litellm": "litellm_path"}[path]
        monkeypatch.setattr(f"swarm.models.{module}.answer_of", crash)
    server.control(script=["500"])
    found = call(tmp_path / "log", settings_for(server.base, path, key_env="MARKED_KEY"))
    assert isinstance(found.error, ZeroDivisionError)
    assert_nowhere(tmp_path, told(found.error), *capfd.readouterr())


def test_an_unknown_exception_beneath_litellm_does_not_show_the_key(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from swarm.models.litellm_path import litellm

    async def chained(**given: Any) -> None:
        try:
            raise ValueError(f"header Bearer {given['api_key']} is no good")
        except ValueError as error:
            raise ZeroDivisionError("a bug") from error

    monkeypatch.setattr(litellm(), "acompletion", chained)
    settings = settings_for(server.base, "litellm", key_env="MARKED_KEY")
    found = call(tmp_path / "log", settings)
    assert isinstance(found.error, ZeroDivisionError)
    assert_nowhere(tmp_path, told(found.error))


@pytest.mark.parametrize("path", PATHS)
def test_no_command_prints_the_key(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str], path: str
) -> None:
    study, log = tmp_path / "study.toml", tmp_path / "log.duckdb"
    write_study(study, server.base, 2, 2, 8)
    text = study.read_text().replace('"direct"', f'"{path}"\nkey_env = "MARKED_KEY"')
    study.write_text(text)
    command = ["run", "--study", str(study), "--jobs", "1", "--out", str(log)]
    server.control(script=["", "500", "429", "400", "401"])
    assert main(command) == 2
    assert main(command) == 0
    assert server.books()["last_header"] == f"Bearer {KEY}"
    for more in (["report"], ["costs"], ["verify"], ["show"]):
        room = ["w000_r0"] if more == ["show"] else []
        assert main([*more, str(log), *room]) == 0
    server.control(script=["401"])
    assert main(["models", "check", "--study", str(study)]) == 1
    output = capfd.readouterr()
    assert "the key (in MARKED_KEY) is refused" in output.err
    assert_nowhere(tmp_path, *output)
