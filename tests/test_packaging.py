"""What a stranger gets: pinned, reproducible, and nothing that does not belong."""

from __future__ import annotations

import re
import site
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_constraints_pin_every_dependency_exactly_and_name_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", pin) for pin in pins)
    pinned = {re.sub(r"[-_.]+", "-", pin.split("==")[0]).lower() for pin in pins}
    wanted = re.findall(
        r'^ {4}"([A-Za-z0-9-]+)', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    names = {re.sub(r"[-_.]+", "-", name).lower() for name in wanted if name[0].islower()}
    libraries = {"simpy", "litellm", "networkx", "pandas", "pydantic", "duckdb", "tqdm"}
    assert libraries <= names & pinned
    assert "litellm==1.82.7" not in pins
    assert "litellm==1.82.8" not in pins


def test_the_installed_litellm_is_none_of_the_malicious_versions() -> None:
    assert version("litellm") not in ("1.82.7", "1.82.8")


def test_no_unexpected_startup_file_is_installed() -> None:
    found = {path.name for folder in site.getsitepackages() for path in Path(folder).glob("*.pth")}
    known = re.compile(r"(distutils-precedence|__editable__.*swarm.*|_virtualenv)\.pth")
    assert [name for name in found if not known.fullmatch(name)] == []


def test_readme_has_two_commands_and_no_more() -> None:
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(commands) == 1
    assert [line.split("#")[0].strip() for line in commands[0].splitlines()] == [
        "make run",
        "make test",
    ]
