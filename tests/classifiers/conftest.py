"""A reader, a played log, and the servers that remote taggers ask; see `tag_oracle` for answers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typesafe_server
from serving import Server, serving

from classifiers.learned import MODEL
from classifiers.learned.artefact import load
from classifiers.learned.words import Reader
from swarm.log.store import Log
from swarm.pool import Workers
from swarm.runner import play_study
from swarm.scenario import scenario_named
from swarm.study import Study

SECRET = "ts-marked-secret"


@pytest.fixture(scope="session")
def reader() -> Reader:
    """What the shipped tagger reads posts with."""
    return Reader(load(MODEL).vocabulary)


@pytest.fixture(scope="session")
def llm_process() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def llm_server(llm_process: Server) -> Server:
    """The OpenAI-compatible server, with empty books and without a fault."""
    llm_process.reset()
    return llm_process


@pytest.fixture(scope="session")
def jev_process() -> Iterator[Server]:
    with serving(typesafe_server.SCRIPT) as server:
        yield server


@pytest.fixture
def jev_server(jev_process: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The decision model's server, likewise; the environment names it and holds a key."""
    jev_process.control(reset=True)
    monkeypatch.setenv("TYPESAFE_API_KEY", SECRET)
    monkeypatch.setenv("TYPESAFE_BASE_URL", jev_process.root)
    monkeypatch.delenv("TYPESAFE_DEFAULT_MODEL", raising=False)
    return jev_process


@pytest.fixture(scope="session")
def played_file(llm_process: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed log of 8 rooms of surrogates, played and not tagged; copy it, never open it.

    Its study knows a live model that sits nowhere: ``oracle``, at the OpenAI-compatible server.
    """
    oracle = {
        "model": "openai/oracle",
        "path": "direct",
        "api_base": llm_process.base,
        "price": {"input": 1.0, "output": 2.0},
        "timeout": 5.0,
        "attempts": 3,
    }
    path = tmp_path_factory.mktemp("played") / "played.duckdb"
    lineup = scenario_named("outage").surrogates()
    study = Study.model_validate(
        {"rooms": 8, "seed": 5, "lineup": lineup, "models": {"oracle": oracle}}
    )
    with Log.open_or_create(path, study) as log, Workers(1) as workers:
        play_study(log, workers)
    return path


@pytest.fixture
def played(played_file: Path, tmp_path: Path) -> Callable[..., Path]:
    """A factory: ``played("name")`` is a fresh copy of the played log in tmp_path."""

    def copy(name: str = "played.duckdb") -> Path:
        return Path(shutil.copy(played_file, tmp_path / name))

    return copy
