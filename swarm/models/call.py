"""The tries of one live call: one after another, until there is an answer or no sense in trying."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from swarm.models.base import Draw, Reply
from swarm.models.breaker import Breaker
from swarm.models.budget import Budget
from swarm.models.faults import AGAIN, LOAD, PERHAPS_BILLED, STOP, CallFailed, Fault, pause_after
from swarm.models.ledger import Ledger
from swarm.models.live import LiveModel
from swarm.models.pace import Pace
from swarm.models.transport import Answer, Request

_LOAD_TRIES = 10  # a refusal for load is no fault of the call: so many times `attempts` are borne
_PATIENCE = 2.0  # seconds after which somebody who stops a run is told what it waits for


@dataclass(slots=True)
class Provider:
    """What calls to one provider with one key share."""

    pace: Pace
    breaker: Breaker


@dataclass(slots=True)
class Flight:
    """A try under way, for the watchdog."""

    model: str
    draw: Draw
    limit: float
    started: float = field(default_factory=monotonic)


class Call:
    """One call; `answered` when a try was, `faults` are those that were not, with their seconds.

    A call that is cancelled while a try is under way still hears that try out, within its limit:
    it may be billed, and its answer can be used when the study goes on. `cut_off` says so; what
    came of it is to be booked, and the cancellation raised after that.
    """

    def __init__(
        self,
        model: LiveModel,
        request: Request,
        draw: Draw,
        *,
        provider: Provider,
        budget: Budget,
        ledger: Ledger,
        flights: dict[int, Flight],
        heard_out: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._heard_out = heard_out
        self._provider = provider
        self._budget = budget
        self._ledger = ledger
        self._flights = flights
        self._model = model
        self._request = request
        self._draw = draw
        self._reserved: float | None = None
        self._risked = 0.0
        self.started = self._sent = monotonic()
        self.faults: list[tuple[CallFailed, float]] = []
        self.assumed = 0.0
        self.answered = self.cut_off = False

    async def _reserve(self) -> None:
        """Set the worst case of a try aside, unless that of the last one still is."""
        if self._reserved is None:
            worst = self._model.worst_case(self._request)
            await self._budget.reserve(worst)
            self._reserved = worst

    def _risk(self) -> None:
        """Let the books know that a try is made: a kill may lose what it costs."""
        risked = self.assumed + (self._reserved or 0.0)
        self._budget.at_risk += risked - self._risked
        self._risked = risked
        self._ledger.allow(self._budget.at_risk)

    def end(self) -> None:
        """It is booked, or nothing was made of it: nothing is set aside or at risk any more."""
        self.settle(0.0)
        self._budget.at_risk -= self._risked
        self._risked = 0.0

    def settle(self, cost: float) -> None:
        """Book `cost` against what is set aside; nothing when nothing is."""
        if self._reserved is not None:
            self._budget.settle(self._reserved, cost)
            self._reserved = None

    def _assume(self) -> None:
        """The last try may be billed, so its worst case is spent."""
        worst = self._reserved or 0.0
        self.assumed += worst
        self.settle(worst)

    async def run(self) -> tuple[Reply, str | None]:
        """Try until there is an answer or no sense in trying; returns it with its finish reason."""
        settings = self._model.settings
        others = 0
        while True:
            await self._reserve()
            try:
                answer, seconds = await self._try()
            except CallFailed as failed:
                self.faults.append((failed, monotonic() - self._sent))
                if failed.fault in PERHAPS_BILLED:
                    self._assume()
                if self.cut_off:
                    raise asyncio.CancelledError from failed
            else:
                self.answered = True
                self._model.answered += 1
                return self._model.reply_of(answer, self._request, seconds), answer.finish
            fault = self.faults[-1][0].fault
            if fault in STOP:
                raise self._model.stopped(fault)
            load = sum(failed.fault in LOAD for failed, _ in self.faults)
            others = len(self.faults) - load
            if fault not in AGAIN:
                self._model.refused_at_first(fault)
                return Reply("", failed=str(fault), final=True), None
            if others >= settings.attempts or load >= settings.attempts * _LOAD_TRIES:
                return Reply("", failed=str(fault), final=True), None
            await asyncio.sleep(pause_after(others))

    async def _try(self) -> tuple[Answer, float]:
        """One request under the provider's pace, limits and timeout."""
        model, provider = self._model, self._provider
        async with provider.pace.slot() as slot:
            look = await provider.breaker.pass_through()
            sent = False
            try:
                await model.within_limits(self._request)
                self._risk()
                slot.started = self._sent = monotonic()
                sent = True
                answer = await self._send()
            except CallFailed as failed:
                slot.refused = failed.fault in LOAD
                slot.retry_after = failed.retry_after
                if failed.fault in AGAIN and failed.fault not in LOAD:
                    provider.breaker.failed(look=look)
                else:
                    provider.breaker.answered()
                raise
            except BaseException:
                provider.breaker.let_go(look=look)
                if sent:
                    self._assume()  # and never heard of again
                raise
            slot.answered = True
            provider.breaker.answered()
            return answer, monotonic() - slot.started

    async def _send(self) -> Answer:
        """One request; a connection that does not end by itself is left behind, not waited for."""
        limit = self._request.timeout
        task = asyncio.ensure_future(self._model.transport.send(self._request))
        flights = self._flights
        flights[id(task)] = Flight(self._model.name, self._draw, limit)
        try:
            done, _ = await asyncio.wait({task}, timeout=limit)
        except asyncio.CancelledError:
            self.cut_off = True
            left = max(0.0, self._sent + limit - monotonic())
            said = asyncio.get_running_loop().call_later(_PATIENCE, self._heard_out, left)
            try:
                done, _ = await asyncio.wait({task}, timeout=left)  # unless cancelled once more
            finally:
                said.cancel()
        finally:
            if task.done():
                del flights[id(task)]
                _forget(task)  # if we are cancelled, nobody else asks what it ended in
            else:
                task.cancel()
                task.add_done_callback(lambda _: flights.pop(id(task), None))
                task.add_done_callback(_forget)
        if not done:
            raise CallFailed(Fault.TIMEOUT)
        return task.result()


def _forget(task: asyncio.Future[Answer]) -> None:
    """Whatever an abandoned try ended in was counted as a timeout already."""
    if not task.cancelled():
        task.exception()
