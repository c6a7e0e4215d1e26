"""The breaker waits for a provider that is down, looks now and then, and has patience's end."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from pathlib import Path

import pytest
import virtual
from calling import call, draws, settings_for
from serving import Server

from swarm.errors import ModelError
from swarm.models.breaker import Breaker


def breaker(**more: float) -> Breaker:
    given = {"failures": 3, "first_pause": 1.0, "longest_pause": 8.0, "patience": 60.0}
    return Breaker("stub", clock=virtual.now, **(given | more))  # type: ignore[arg-type]


async def opened(**more: float) -> Breaker:
    made = breaker(**more)
    for _ in range(3):
        assert not await made.pass_through()
        made.failed(look=False)
    return made


def test_it_opens_after_failures_in_a_row_only() -> None:
    made = breaker()
    for _ in range(5):
        made.failed(look=False)
        made.failed(look=False)
        assert not made.open
        made.answered()
    for expected in (False, False):
        made._clock = lambda: 0.0
        made.failed(look=False)
        assert made.open is expected
    made.failed(look=False)
    assert made.open


def test_calls_wait_one_looks_and_an_answer_lets_all_in() -> None:
    async def work() -> None:
        made = await opened()
        begun, looks, through = virtual.now(), 0, 0

        async def caller() -> None:
            nonlocal looks, through
            if await made.pass_through():
                looks += 1
                assert through == 0
                await asyncio.sleep(2)
                made.answered()
            through += 1

        await asyncio.gather(*(caller() for _ in range(20)))
        assert (looks, through) == (1, 20)
        assert 3 <= virtual.now() - begun < 4.5  # a pause of one second, a look of two

    virtual.run(work())


def test_looks_come_more_and_more_seldom() -> None:
    async def work() -> None:
        made = await opened(patience=1000.0)
        times = [virtual.now()]
        for _ in range(6):
            assert await made.pass_through()
            times.append(virtual.now())
            made.failed(look=True)
        gaps = [b - a for a, b in pairwise(times)]
        assert gaps == pytest.approx([1, 2, 4, 8, 8, 8], abs=0.1)

    virtual.run(work())


def test_calls_that_were_under_way_when_it_opened_are_no_looks() -> None:
    async def work() -> None:
        made = await opened()
        for _ in range(50):
            made.failed(look=False)
            made.let_go(look=False)
        begun = virtual.now()
        assert await made.pass_through()
        assert virtual.now() - begun < 1.1  # the pause did not double 50 times
        made.failed(look=False)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(made.pass_through(), 20)  # nobody looks beside the one who does

    virtual.run(work())


def test_a_look_that_was_cancelled_is_taken_over() -> None:
    async def work() -> None:
        made = await opened()
        assert await made.pass_through()
        made.let_go(look=True)
        assert await asyncio.wait_for(made.pass_through(), 2)

    virtual.run(work())


def test_patience_ends_the_study_in_one_line() -> None:
    async def work() -> None:
        made = await opened()
        begun = virtual.now()
        with pytest.raises(ModelError, match="stub has not answered for 60 s"):
            for _ in range(50):
                if await made.pass_through():
                    made.failed(look=True)
        assert 60 < virtual.now() - begun < 70

    virtual.run(work())


def test_a_provider_that_is_down_is_waited_for(server: Server, tmp_path: Path) -> None:
    server.control(script=["500"] * 12)
    settings = settings_for(server.base, attempts=20)
    start = time.monotonic()
    found = call(tmp_path / "log", settings, draws(6), together=True)
    assert found.error is None
    assert len(found.replies) == 6
    assert time.monotonic() - start >= 1.0
    assert server.books()["asked"] == 18


def test_refusals_for_load_never_open_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swarm.models.pace._LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(Breaker, "failed", None)  # calling it would be a bug
    server.control(script=["429", "503"] * 15)
    found = call(tmp_path / "log", settings_for(server.base, attempts=4), draws(1))
    assert (found.error, len(found.faults)) == (None, 30)
