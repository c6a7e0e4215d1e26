"""Every fault has a class and an end: tried again, given up, or the study stops.

One call for each kind of misbehaviour, over both ways to a provider.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from calling import call, draws, settings_for
from fault_server import KINDS, REFUSALS
from serving import Server

from swarm.errors import ModelError
from swarm.models.faults import (
    LONGEST_RETRY_AFTER,
    CallFailed,
    Fault,
    seconds_of,
)

PATHS = ("direct", "litellm")
CLASS = {
    "429 with Retry-After": Fault.RATE_LIMITED,
    "429": Fault.RATE_LIMITED,
    "500": Fault.SERVER,
    "503": Fault.OVERLOADED,
    "408": Fault.TIMEOUT,
    "401": Fault.NO_ACCESS,
    "403": Fault.NO_ACCESS,
    "402": Fault.NO_MONEY,
    "404": Fault.NOT_FOUND,
    "400": Fault.REFUSED,
    "insufficient_quota": Fault.NO_MONEY,
    "hang": Fault.TIMEOUT,
    "slow drip": Fault.TIMEOUT,
    "close mid-body": Fault.CONNECTION,
    "invalid JSON": Fault.BAD_BODY,
}
"""Kinds that are no reply; the other kinds are replies, good or bad."""
STOPPING = ("401", "402", "403", "404", "insufficient_quota")
PASSING = tuple(kind for kind in CLASS if kind not in (*STOPPING, "400"))
PERHAPS_BILLED = {"408", "hang", "slow drip", "close mid-body", "invalid JSON"}
SHORT = 0.7


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", PASSING)
def test_a_passing_fault_is_logged_with_its_class_and_tried_again(
    server: Server, tmp_path: Path, kind: str, path: str
) -> None:
    server.control(script=[kind])
    found = call(tmp_path / "log", settings_for(server.base, path, timeout=SHORT))
    assert found.error is None
    [(fault, status, code, retry_after, seconds)] = found.faults
    assert fault == CLASS[kind]
    assert (status, code) == {**REFUSALS, "invalid JSON": (200, None)}.get(kind, (None, None))
    assert retry_after == (0.2 if kind == "429 with Retry-After" else None)
    assert seconds < SHORT + 0.5
    assert server.books()["asked"] == 2
    [row] = found.calls
    assert (row["status"], row["tries"], row["fault"]) == ("ok", 2, None)
    assert '"post": "ok"' in found.replies[0].text
    assert (row["assumed"] > 0) == (kind in PERHAPS_BILLED)
    assert found.left == 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", STOPPING)
def test_a_fault_that_every_call_would_meet_stops_the_study_in_one_line(
    server: Server, tmp_path: Path, kind: str, path: str
) -> None:
    server.control(script=[kind])
    found = call(tmp_path / "log", settings_for(server.base, path), draws(2))
    assert isinstance(found.error, ModelError)
    assert len(str(found.error).splitlines()) == 1
    assert "stub" in str(found.error)
    assert [row[0] for row in found.faults] == [CLASS[kind]]
    assert [(row["status"], row["fault"]) for row in found.calls] == [("failed", CLASS[kind])]
    assert server.books()["asked"] == 1


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in CLASS])
def test_a_bad_reply_is_a_reply_and_never_asked_for_again_by_the_gateway(
    server: Server, tmp_path: Path, kind: str, path: str
) -> None:
    server.control(script=[kind])
    found = call(tmp_path / "log", settings_for(server.base, path))
    assert (found.error, found.faults, server.books()["asked"]) == (None, [], 1)
    [reply], [row] = found.replies, found.calls
    assert (row["status"], row["tries"], row["reply"]) == ("ok", 1, reply.text)
    assert (reply.failed is not None) == (kind == "finish_reason length")
    assert len(reply.text) <= 20_000
    assert (reply.text == "") == (kind == "empty content")
    assert (reply.tokens_in is None) == (kind == "null usage")
    assert found.spent >= server.books()["billed"] > 0 or kind == "null usage"


def test_every_kind_of_the_server_is_tried_here() -> None:
    bad = {"empty content", "finish_reason length", "null usage", "wrong schema"}
    assert {*KINDS} - {*CLASS} == bad | {"fenced JSON", "10 MB content"}


@pytest.mark.parametrize("path", PATHS)
def test_a_refused_request_is_a_pass_and_five_at_first_stop_the_study(
    server: Server, tmp_path: Path, path: str
) -> None:
    server.control(script=["400"] * 5)
    found = call(tmp_path / "log", settings_for(server.base, path), draws(9))
    assert [(r.failed, r.final, r.text) for r in found.replies] == [("refused", True, "")] * 4
    assert isinstance(found.error, ModelError)
    assert "first 5 calls" in str(found.error)
    assert server.books()["asked"] == 5


def test_refusals_after_an_answer_never_stop_the_study(server: Server, tmp_path: Path) -> None:
    server.control(script=["", *["400"] * 8])
    found = call(tmp_path / "log", settings_for(server.base), draws(9))
    assert found.error is None
    assert [r.failed for r in found.replies] == [None, *["refused"] * 8]


@pytest.mark.parametrize("kind", ["500", "invalid JSON", "close mid-body"])
def test_a_call_is_tried_so_often_and_then_given_up(
    server: Server, tmp_path: Path, kind: str
) -> None:
    server.control(script=[kind] * 9)
    found = call(tmp_path / "log", settings_for(server.base, attempts=3))
    assert (found.error, server.books()["asked"]) == (None, 3)
    assert (found.replies[0].failed, found.replies[0].final) == (CLASS[kind], True)
    [row] = found.calls
    assert (row["status"], row["fault"], row["tries"]) == ("failed", CLASS[kind], 3)


def test_refusals_for_load_are_borne_ten_times_as_often(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swarm.models.pace._LONGEST_PAUSE", 0.01)
    server.control(script=["429"] * 30)
    found = call(tmp_path / "log", settings_for(server.base, attempts=1))
    assert (server.books()["asked"], len(found.faults)) == (10, 10)
    assert found.replies[0].failed == Fault.RATE_LIMITED
    assert found.calls[0]["assumed"] == 0


@pytest.mark.parametrize("path", PATHS)
def test_a_retry_after_is_obeyed(server: Server, tmp_path: Path, path: str) -> None:
    server.control(script=["", "429 with Retry-After"], retry_after="1.3")
    asked = draws(2)
    found = call(tmp_path / "log", settings_for(server.base, path), asked)
    assert found.calls[1]["seconds"] > 1.3
    assert found.faults[0][3] == 1.3


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("86400", 60.0), ("inf", 60.0), ("-5", 0.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None)],
)
def test_a_retry_after_never_puts_a_study_to_sleep_for_long(
    header: str, seconds: float | None
) -> None:
    failed = CallFailed(Fault.RATE_LIMITED, retry_after=seconds_of(header))
    assert failed.retry_after == seconds
    assert LONGEST_RETRY_AFTER == 60.0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["hang", "slow drip"])
def test_the_end_never_waits_for_a_connection_that_does_not_close(
    server: Server, tmp_path: Path, kind: str, path: str
) -> None:
    server.control(script=["", *[kind] * 2])
    settings = settings_for(server.base, path, timeout=SHORT, attempts=1)
    call(tmp_path / "warm", settings)  # what is imported and connected once is not measured
    start = time.monotonic()
    found = call(tmp_path / "log", settings, draws(2), together=True)
    assert time.monotonic() - start < SHORT + 1.5
    assert [reply.failed for reply in found.replies] == [Fault.TIMEOUT] * 2
    assert found.left == 0


@pytest.mark.parametrize("path", PATHS)
def test_a_provider_that_is_not_there_is_not_paid(tmp_path: Path, path: str) -> None:
    settings = settings_for("http://127.0.0.1:9/v1", path, attempts=2)
    found = call(tmp_path / "log", settings)
    assert [row[0] for row in found.faults] == [Fault.UNREACHED] * 2
    assert found.spent == found.calls[0]["assumed"] == 0


def test_a_transport_that_does_not_end_when_it_is_told_to_is_left_behind(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even when the library beneath swallows the first request to end."""
    import asyncio

    from swarm.models.direct import Direct

    async def deaf(*_: object) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(60)

    monkeypatch.setattr(Direct, "send", deaf)
    start = time.monotonic()
    found = call(tmp_path / "log", settings_for(server.base, timeout=0.2, attempts=1))
    assert time.monotonic() - start < 3
    assert found.replies[0].failed == Fault.TIMEOUT
