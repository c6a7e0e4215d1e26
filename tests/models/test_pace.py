"""The pace finds a limit that nobody tells it, and lets nobody in beyond its own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from itertools import pairwise

import virtual

from swarm.models.pace import Pace

LATENCY = 0.25


class Provider:
    """Refuses beyond `limit` calls at once, and a share `noise` of all others for no reason."""

    def __init__(self, limit: int, noise: float = 0.0) -> None:
        self.limit = limit
        self.noise = noise
        self.at_once = self.most = self.answered = self.refused = 0
        self.dice = random.Random(5)

    async def call(self, pace: Pace, after: float | None = None) -> None:
        async with pace.slot() as slot:
            slot.started = virtual.now()
            if self.at_once >= self.limit or self.dice.random() < self.noise:
                self.refused += 1
                await asyncio.sleep(0.002)
                slot.refused, slot.retry_after = True, after
                return
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            try:
                await asyncio.sleep(LATENCY * self.dice.uniform(0.97, 1.03))
            finally:
                self.at_once -= 1
            self.answered += 1
            slot.answered = True

    async def phase(self, pace: Pace, seconds: float, callers: int = 200) -> tuple[float, float]:
        """(share of the limit used, share of calls refused)."""
        self.answered = self.refused = 0
        end = virtual.now() + seconds

        async def caller() -> None:
            while virtual.now() < end:
                await self.call(pace)

        await asyncio.gather(*(caller() for _ in range(callers)))
        used = self.answered * LATENCY / seconds / self.limit
        return used, self.refused / (self.answered + self.refused)


def test_a_hidden_limit_is_found_and_followed_when_it_halves_and_doubles() -> None:
    async def work() -> None:
        pace, provider = Pace(500, clock=virtual.now), Provider(50)
        for limit in (50, 25, 50):
            provider.limit = limit
            used, refused = await provider.phase(pace, 60)
            assert used > 0.9
            assert refused < 0.03

    virtual.run(work())


def test_never_more_are_in_flight_than_the_most() -> None:
    async def work() -> None:
        pace, provider = Pace(7, clock=virtual.now), Provider(1000)
        await provider.phase(pace, 20)
        assert (provider.most, provider.refused) == (7, 0)

    virtual.run(work())


def test_a_window_below_two_still_grows() -> None:
    async def work() -> None:
        pace, provider = Pace(100, clock=virtual.now), Provider(1000)
        pace.window, pace._starting = 1.5, False
        await provider.phase(pace, 100, callers=20)
        assert pace.window > 2

    virtual.run(work())


def test_refusals_that_have_nothing_to_do_with_us_do_not_stop_us() -> None:
    async def work() -> None:
        pace, provider = Pace(100, clock=virtual.now), Provider(1000, noise=0.055)
        await provider.phase(pace, 120)
        provider.limit = 100
        used, _ = await provider.phase(pace, 120)
        assert used > 0.5

    virtual.run(work())


def test_cancelled_calls_leak_no_place() -> None:
    async def work() -> None:
        pace, provider = Pace(8, clock=virtual.now), Provider(1000)
        dice = random.Random(3)
        for _ in range(30):
            tasks = [asyncio.ensure_future(provider.call(pace)) for _ in range(40)]
            await asyncio.sleep(dice.uniform(0, LATENCY))
            for task in dice.sample(tasks, 30):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert pace.in_flight == 0
        used, _ = await provider.phase(pace, 20)
        assert used * 1000 > 7

    virtual.run(work())


def test_a_place_given_in_the_moment_of_its_cancellation_is_given_back() -> None:
    async def work() -> None:
        pace, provider = Pace(1, clock=virtual.now), Provider(10)
        async with pace.slot():
            second = asyncio.ensure_future(provider.call(pace))
            await asyncio.sleep(0)
        second.cancel()  # it has the place, and does not know yet
        await asyncio.wait({second})
        assert second.cancelled()
        await asyncio.wait_for(provider.call(pace), 5)
        assert pace.in_flight == 0

    virtual.run(work())


def _after_refusal(after: float | None) -> Callable[[], float]:
    """Seconds that other calls wait after a refusal that asks for `after`."""

    async def work() -> float:
        pace, provider = Pace(50, clock=virtual.now), Provider(0)
        await provider.call(pace, after)
        provider.limit = 100
        begun = virtual.now()
        await asyncio.gather(*(provider.call(pace) for _ in range(5)))
        return virtual.now() - begun - LATENCY

    return lambda: virtual.run(work())


def test_a_retry_after_pauses_every_call_and_no_longer_than_asked() -> None:
    calm, paused = _after_refusal(None)(), _after_refusal(8.0)()
    assert calm < 2
    assert 7.9 < paused - calm < 8.5


def test_refusals_in_a_row_pause_longer_and_longer_but_not_for_ever() -> None:
    async def work() -> None:
        pace, provider = Pace(50, clock=virtual.now), Provider(0)
        times = []
        for _ in range(16):
            await provider.call(pace)
            times.append(virtual.now())
        gaps = [b - a for a, b in pairwise(times)]
        assert gaps[8] > 2 * gaps[5] > 0.4
        assert max(gaps) < 31

    virtual.run(work())
