"""A circuit breaker that waits.

After several failures in a row (not refusals for load: those are the pace's) a provider is taken to
be down. Calls then wait instead of failing; one at a time goes through to see whether it is
back, after a pause that doubles. When it stays down for `patience` seconds the study stops, to be
resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from swarm.errors import ModelError


class Breaker:
    """Guards one provider.

    Parameters
    ----------
    name : str
        For the fault's text.
    failures : int
        Failures in a row that open it.
    first_pause, longest_pause : float
        Seconds between looks while it is open.
    patience : float
        Seconds of outage after which `pass_through` raises.
    """

    def __init__(
        self,
        name: str,
        *,
        failures: int = 12,
        first_pause: float = 1.0,
        longest_pause: float = 30.0,
        patience: float = 300.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._name = name
        self._failures = failures
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._patience = patience
        self._clock = clock
        self._in_a_row = 0
        self._down_since: float | None = None
        self._pause = first_pause
        self._look_at = 0.0
        self._looking = False

    @property
    def open(self) -> bool:
        """Whether the provider is taken to be down."""
        return self._down_since is not None

    async def pass_through(self) -> bool:
        """Return when a call may be made: True when it is a look at a provider that is down.

        Raises
        ------
        ModelError
            When the provider has been down for longer than `patience`.
        """
        while self._down_since is not None:
            now = self._clock()
            if now - self._down_since > self._patience:
                raise ModelError(
                    f"{self._name} has not answered for {self._patience:.0f} s; what was finished "
                    "is in the log, repeat the command when it is back"
                )
            if not self._looking and now >= self._look_at:
                self._looking = True
                return True
            await asyncio.sleep(max(0.02, min(self._look_at - now, 1.0)))
        return False

    def answered(self) -> None:
        """The provider answered, be it with a refusal: it is up."""
        self._in_a_row = 0
        self._down_since = None
        self._looking = False
        self._pause = self._first_pause

    def failed(self, *, look: bool) -> None:
        """A call failed in a way that a provider that is down would fail it.

        Calls that were under way when it went down say nothing new: only a `look` does.
        """
        self._in_a_row += 1
        if look:
            self._looking = False
            self._pause = min(self._longest_pause, 2 * self._pause)
            self._look_at = self._clock() + self._pause
        elif self._down_since is None and self._in_a_row >= self._failures:
            self._down_since = self._clock()
            self._look_at = self._clock() + self._pause

    def let_go(self, *, look: bool) -> None:
        """A call that was let through ended without telling anything (it was cancelled)."""
        if look:
            self._looking = False
