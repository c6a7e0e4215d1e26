"""Money: reserved before a call, settled after it.

A call is made only when its worst case still fits under the cap beside everything spent and
reserved, so the cap holds whatever the calls turn out to cost. Calls that do not fit wait for
others to settle for less than they reserved; when nothing is reserved any more and the next call
still does not fit, the budget is exhausted.
"""

from __future__ import annotations

import asyncio
from collections import deque

from swarm.models.faults import BudgetExhausted


class Budget:
    """The money of a study, over all its runs; US dollars.

    Parameters
    ----------
    cap : float or None
        Never exceeded; None for no cap.
    spent : float
        What earlier runs of the study spent.

    Attributes
    ----------
    reserved : float
        Set aside for calls that wait or are under way.
    at_risk : float
        What calls under way may cost that no log knows yet; kept by the calls.
    """

    def __init__(self, cap: float | None, *, spent: float = 0.0) -> None:
        self.cap = cap
        self.spent = spent
        self.reserved = self.at_risk = 0.0
        self._count = 0
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()

    def _fits(self, amount: float) -> bool:
        return self.cap is None or self.spent + self.reserved + amount <= self.cap + 1e-12

    async def reserve(self, amount: float) -> None:
        """Set `amount` aside, as soon as it fits; first come, first served.

        Raises
        ------
        BudgetExhausted
            When it does not fit and nothing that is reserved could make room.
        """
        if not self._waiting and self._fits(amount):
            self._take(amount)
            return
        if self._count == 0 and not self._waiting:
            raise self._exhausted(amount)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((amount, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.settle(amount, 0.0)
            raise

    def settle(self, reserved: float, cost: float) -> None:
        """Give back what was `reserved` and book the `cost`."""
        self.reserved -= reserved
        self._count -= 1
        if self._count == 0:
            self.reserved = 0.0  # no rounding error stays behind
        self.spent += cost
        while self._waiting:
            amount, place = self._waiting[0]
            if place.done():
                self._waiting.popleft()
            elif self._fits(amount):
                self._waiting.popleft()
                self._take(amount)
                place.set_result(None)
            elif self._count == 0:
                self._waiting.popleft()
                place.set_exception(self._exhausted(amount))
            else:
                return

    def _take(self, amount: float) -> None:
        self.reserved += amount
        self._count += 1

    def _exhausted(self, amount: float) -> BudgetExhausted:
        return BudgetExhausted(
            f"the budget of ${self.cap:.4f} is exhausted: ${self.spent:.4f} are spent and the next "
            f"call may cost ${amount:.4f}; repeat the command with a larger --budget-usd to go on"
        )
