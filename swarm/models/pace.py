"""How many calls may be in flight, found out by trying.

A provider's limit is hidden: so many calls at once, or so many a minute. One number stands for
both, the *window*: calls in flight. Below one call it means a pause between calls (a window of 0.5
starts a call every two latencies), and starts are always spread over a latency, so that a window of
w at latency s is w/s calls a second. The window grows with every success and shrinks when the
provider refuses for load (additive increase, multiplicative decrease).

Growth is slow near the window at which it was last refused and speeds up with every success since,
so a raised limit is found soon. Shrinking depends on how many of the latest calls were refused: a
little for a single refusal, much when the limit has fallen. It shrinks once a latency, since calls
that were under way already say nothing new. Refusals without any success between them pause all
calls, for twice as long each time, and a Retry-After is obeyed, up to a minute.

A provider short of capacity refuses a share of calls whatever we do. So when a halved window is
refused as often as the whole one was, the window is not to blame: it is given back and grows until
refusals become more.

References
----------
D.-M. Chiu, R. Jain (1989), Analysis of the increase and decrease algorithms for congestion
avoidance in computer networks. Computer Networks and ISDN Systems 17(1), 1-14.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

_SMALLEST = 0.005
_RECENT = 40  # calls over which refusals are counted
_GROWTH = 0.0005  # of the window, for each success near the last refusal
_FASTEST = 0.02  # of the window, for each success, however long all went well
_BACK = 0.005  # of the window, for each success while it is not to blame
_CALM = 400.0  # successes over which growth doubles, then quadruples, ...
_LITTLE, _MUCH = 0.96, 0.7  # what is left of the window
_LONGEST_PAUSE = 30.0
_JUDGED = 100  # calls over which it is judged whether the window is to blame
_MANY = 0.25  # of calls refused: no need to judge, the limit has fallen
_FEW = 0.035  # of calls refused: what probing a limit takes, no reason to judge


class Pace:
    """The adaptive number of calls in flight to one provider with one key.

    Parameters
    ----------
    most : int
        Calls in flight that are never exceeded.
    clock : callable
        Seconds; for tests.
    """

    def __init__(self, most: int, *, clock: Callable[[], float] = monotonic) -> None:
        self.most = most
        self.window = min(2.0, float(most))
        self.in_flight = 0
        self._clock = clock
        self._latency = 0.0
        self._next_start = 0.0
        self._starting = True  # doubling, until the first refusal
        self._calm = 0
        self._refused_in_a_row = 0
        self._shrunk_at = -1.0
        self._recent: deque[bool] = deque(maxlen=_RECENT)
        self._blame = _Blame()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait for a place; tell the yielded slot how the call went before leaving."""
        await self._enter()
        slot = Slot(self._clock())
        try:
            yield slot
        finally:
            self.in_flight -= 1
            self._learn(slot)
            self._wake()

    async def _enter(self) -> None:
        if not self._waiting and self._may_start():
            self._start()
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._wake()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.in_flight -= 1
            self._wake()
            raise

    def _may_start(self) -> bool:
        return (
            self.in_flight < max(1, int(self.window)) and self._clock() >= self._next_start - 1e-4
        )

    def _start(self) -> None:
        self.in_flight += 1
        gap = 0.8 * self._latency / self.window if self.window >= 1 else self._latency / self.window
        self._next_start = max(self._next_start, self._clock() - gap) + gap

    def _wake(self) -> None:
        """Let those in who may start now, and set a timer for the next one who may start later."""
        while self._waiting and self._may_start():
            place = self._waiting.popleft()
            if not place.done():
                self._start()
                place.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting and self.in_flight < max(1, int(self.window)):
            wait = max(0.0, self._next_start - self._clock())
            self._timer = asyncio.get_running_loop().call_later(wait, self._wake)

    def _learn(self, slot: Slot) -> None:
        now = self._clock()
        if (slot.refused or slot.answered) and slot.started > self._shrunk_at:
            back = self._blame.saw(slot.refused, self.window)
            self.window = max(self.window, back)
        if slot.refused:
            self._recent.append(True)
            self._refused(now, slot)
        elif slot.answered:
            seconds = now - slot.started
            self._latency = 0.8 * self._latency + 0.2 * seconds if self._latency else seconds
            self._recent.append(False)
            self._refused_in_a_row = 0
            self._calm += 1
            self._grow()

    def _grow(self) -> None:
        # Not while the window is not used: an idle provider says nothing about its limit.
        if self.in_flight + 1 < 0.7 * int(self.window):
            return
        if self._starting:
            step = 0.5 if self.window < 8 else 1.0
        elif not self._blame.ours:
            step = min(self.window * _BACK, 1.0)
        else:
            rate = min(_FASTEST, _GROWTH * (1 + self._calm / _CALM) ** 3)
            step = min(self.window * rate, 1.0)
            if self._calm < _CALM:
                step = min(step, 1.0 / max(self.window, 1.0))
        self.window = min(float(self.most), self.window + step)

    def _refused(self, now: float, slot: Slot) -> None:
        self._refused_in_a_row += 1
        if self._blame.ours or self._starting:
            self._calm = 0
        if slot.started > self._shrunk_at and (self._blame.ours or self._starting):
            share = sum(self._recent) / len(self._recent)
            keep = _MUCH if share > 0.15 or self._starting else _LITTLE
            floor = self._blame.floor if share < _MANY else _SMALLEST
            self.window = max(min(self.window, floor), self.window * keep)
            self._shrunk_at = now
            self._starting = False
        pause = slot.retry_after or 0.0
        if self._refused_in_a_row > 3:
            pause = max(pause, min(_LONGEST_PAUSE, 0.1 * 2.0 ** (self._refused_in_a_row - 4)))
        self._next_start = max(self._next_start, now + pause)


class _Blame:
    """Whether refusals are about our window: whether a smaller one is refused less.

    Attributes
    ----------
    ours : bool
    """

    def __init__(self) -> None:
        self.ours = True
        self._calls = self._refused = 0
        self._widest = 0.0
        self._before: tuple[float, float] | None = None  # window, and the share refused under it
        self._trial = False  # the window is half of that: is the share too?

    @property
    def floor(self) -> float:
        """What the window is not shrunk below before it is judged."""
        widest = self._before[0] if self._before else self._widest
        return max(_SMALLEST, widest / 4)

    def saw(self, refused: bool, window: float) -> float:
        """Take note of a call that was answered or refused for load under `window`.

        Returns the window to go back to when it was shrunk for nothing, else 0.
        """
        if self.ours and self._before and self._trial != (window < self._before[0] / 2):
            self._trial = not self._trial
            self._calls = self._refused = 0
        self._calls += 1
        self._refused += refused
        self._widest = max(self._widest, window)
        if self._calls < _JUDGED:
            return 0.0
        share = self._refused / self._calls
        self._calls = self._refused = 0
        widest, self._widest = self._widest, 0.0
        if not self.ours:
            assert self._before is not None
            if share > 1.5 * self._before[1] + 0.03:
                self.ours, self._before = True, (widest, share)
            return 0.0
        back = 0.0
        if self._trial and self._before and max(_FEW, self._before[1] / 2) <= share < _MANY:
            self.ours, back = False, self._before[0]
        if self._trial or self._before is None or widest > self._before[0]:
            self._before = (widest, share) if share >= _FEW else None
        self._trial = False
        return back


class Slot:
    """A call's place.

    Attributes
    ----------
    started : float
    answered, refused : bool
        The provider answered; it refused for load. Neither, when the call failed otherwise.
    retry_after : float or None
        Seconds that the provider asked for.
    """

    __slots__ = ("answered", "refused", "retry_after", "started")

    def __init__(self, started: float) -> None:
        self.started = started
        self.answered = False
        self.refused = False
        self.retry_after: float | None = None
