"""One misbehaving server for all tests of live models, forgetful between them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from serving import Server, serving


@pytest.fixture(scope="session")
def server_process() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(server_process: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The fault server with empty books, answering at once and without a fault.

    Commits come soon: single calls would spend their time waiting for company.
    """
    monkeypatch.setattr("swarm.log.writer.GROUP_SECONDS", 0.02)
    server_process.reset()
    return server_process
