"""``models check`` says of each model what a study needs to know before it costs money."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from serving import Server

from swarm.__main__ import main

Check = Callable[..., tuple[int, dict[str, list[str]], str]]

TABLE = """
[models.{name}]
model = "openai/{name}"
path = "{path}"
api_base = "{base}"
timeout = 2
{more}
"""


@pytest.fixture
def check(server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Check:
    """``check({"name": "more TOML"})`` -> (exit code, cells by model, standard error)."""

    def run(
        models: dict[str, str], path: str = "direct", base: str = server.base
    ) -> tuple[int, dict[str, list[str]], str]:
        text = "".join(
            TABLE.format(name=name, path=path, base=base, more=more)
            for name, more in models.items()
        )
        study = tmp_path / "study.toml"
        study.write_text(text)
        code = main(["models", "check", "--study", str(study)])
        printed = capfd.readouterr()
        lines = [line for line in printed.out.splitlines() if line.split()[:1]]
        cells = {line.split()[0]: line.split() for line in lines}
        return code, cells, printed.err

    return run


@pytest.mark.parametrize("path", ["direct", "litellm"])
def test_a_model_that_can_be_reached(check: Check, server: Server, path: str) -> None:
    code, cells, errors = check({"stub": "price = { input = 1.5, output = 3 }"}, path)
    assert (code, errors) == (0, "")
    # The server takes a schema without obeying it, and answers the same to the same seed.
    assert cells["stub"][:4] == ["stub", "yes", "ignored", "yes"]
    assert " ".join(cells["stub"][4:]).startswith("72 + 48 1.5, 3 (study)")
    assert cells["stub"][-1] == "stub"
    assert server.books()["asked"] == 4


def test_what_a_provider_refuses_is_no(check: Check, server: Server) -> None:
    server.control(refuse=["seed", "response_format"])
    code, cells, _ = check({"stub": ""})
    assert code == 0
    assert cells["stub"][:4] == ["stub", "yes", "no", "no"]
    assert "unknown" in cells["stub"]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("401", "no access (401)"),
        ("404", "not found (404)"),
        ("insufficient_quota", "quota used up (429)"),
        ("400", "refused (400)"),
        ("hang", "timeout"),
        ("invalid JSON", "unreadable answer (200)"),
    ],
)
def test_a_model_that_answers_with_a_fault_is_not_reachable(
    check: Check, server: Server, kind: str, says: str
) -> None:
    server.control(script=[kind])
    code, cells, errors = check({"stub": ""})
    assert code == 1
    assert f"no: {says}" in " ".join(cells["stub"])
    assert errors == "swarm: 1 of 1 models cannot be reached\n"


@pytest.mark.parametrize("path", ["direct", "litellm"])
def test_a_server_that_is_not_there(check: Check, path: str) -> None:
    code, cells, errors = check({"stub": ""}, path, "http://127.0.0.1:9/v1")
    assert (code, errors) == (1, "swarm: 1 of 1 models cannot be reached\n")
    assert "no: not reached" in " ".join(cells["stub"])


def test_one_lost_model_does_not_hide_the_others(check: Check, server: Server) -> None:
    server.control(script=["503"])
    code, cells, errors = check({"down": "", "up": ""})
    assert (code, errors) == (1, "swarm: 1 of 2 models cannot be reached\n")
    assert "no: overloaded (503)" in " ".join(cells["down"])
    assert cells["up"][1] == "yes"


def test_a_study_without_live_models_and_a_missing_key_are_bad_usage(
    check: Check, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "check", "--models", "kimi-k3"]) == 2
    assert "no live model" in capfd.readouterr().err
    code, _, errors = check({"stub": 'key_env = "NO_SUCH_KEY"'})
    assert code == 2
    assert "NO_SUCH_KEY is empty" in errors
