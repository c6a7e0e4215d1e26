"""Every live call goes through here, in one order.

key -> stored reply -> single flight -> budget reserved -> place in the pace -> circuit breaker ->
known limits -> hard timeout -> fault classified, tried again -> booked, reservation settled.

The gateway makes calls frugal (nothing is paid for twice, the cap holds), fast (as many at once as
the provider bears) and unkillable (every fault has a class and an end). What a reply says is not
its business: rooms read it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from time import monotonic
from typing import Any, Self

from swarm.errors import ModelError
from swarm.log.store import Log
from swarm.log.writer import Writer
from swarm.models.base import Draw, Reply, current_draw
from swarm.models.breaker import Breaker
from swarm.models.budget import Budget
from swarm.models.call import Call, Flight, Provider
from swarm.models.ledger import Ledger, call_key
from swarm.models.live import LiveModel, check_model, transport_of
from swarm.models.pace import Pace
from swarm.models.settings import ModelSettings
from swarm.models.transport import Request
from swarm.prompt import Prompt

_GRACE = 5.0  # seconds over its limit after which a call is named


@dataclass(frozen=True, slots=True)
class Spending:
    """What a run may spend: the study's cap in US dollars, and whether unknown prices are borne."""

    budget_usd: float | None = None
    price_unknown_ok: bool = False


class Gateway:
    """All live calls of a run; an async context manager.

    Parameters
    ----------
    log, writer
        Where calls are booked.
    models : mapping
        Settings of every live model, by the study's name for it.
    schema : dict or None
        JSON schema of a reply, for models that constrain replies to one.
    spending : Spending

    Raises
    ------
    ModelError
        On entering: when a model is unknown, its key is missing, or it has no price.
    """

    def __init__(
        self,
        log: Log,
        writer: Writer,
        models: Mapping[str, ModelSettings],
        *,
        schema: dict[str, Any] | None = None,
        spending: Spending | None = None,
    ) -> None:
        self._log = log
        self._writer = writer
        self._settings = dict(models)
        self._schema = schema
        self._spending = spending or Spending()
        self._providers: dict[tuple[str, str | None], Provider] = {}
        self._provider_of: dict[str, Provider] = {}
        self._flying: dict[str, asyncio.Future[Reply]] = {}
        self._flights: dict[int, Flight] = {}
        self._exit = AsyncExitStack()
        self._stopping = False
        self.models: dict[str, LiveModel] = {}

    async def __aenter__(self) -> Self:
        self.ledger = Ledger(self._log, self._writer)
        self._spent_at_start = self.ledger.spent()
        self.budget = Budget(self._spending.budget_usd, spent=self._spent_at_start)
        try:
            for name, settings in self._settings.items():
                self.models[name] = self._open(name, settings)
        except BaseException:
            await self.ledger.close(in_order=True)
            raise
        watch = asyncio.create_task(self._watch())
        self._exit.callback(watch.cancel)
        return self

    async def __aexit__(self, *_: object) -> None:
        for model in self.models.values():
            await model.transport.close()
        await self._exit.aclose()
        await self.ledger.close(in_order=self.budget.reserved == 0)

    def _open(self, name: str, settings: ModelSettings) -> LiveModel:
        check_model(name, settings)
        price = self.ledger.price_of(name, settings)
        if price is None and not self._spending.price_unknown_ok:
            raise ModelError(
                f"{name} has no known price; give one as [models.{name}] price = {{input = ..., "
                "output = ...} in US dollars for a million tokens, or say --price-unknown-ok"
            )
        if price is None and self.budget.cap is not None:
            raise ModelError(
                f"{name} has no known price, so --budget-usd cannot hold; give it a price"
            )
        shared = (settings.api_base or settings.model.partition("/")[0], settings.key_env)
        if shared not in self._providers:
            self._providers[shared] = Provider(Pace(settings.concurrency), Breaker(name))
        self._provider_of[name] = self._providers[shared]
        return LiveModel(self.call, name, settings, price, transport_of(settings), self._schema)

    def money(self, *, done: int, left: int) -> str:
        """The books in a few words, for a progress line.

        Parameters
        ----------
        done, left : int
            Rooms or replays of this run; the forecast takes those left to cost as much as those
            done.
        """
        spent = self.budget.spent
        forecast = spent + (spent - self._spent_at_start) / max(done, 1) * left
        return f"${spent:.2f} spent, {self.budget.reserved:.2f} reserved, {forecast:.2f} forecast"

    async def call(self, model: LiveModel, prompt: Prompt, seed: int) -> Reply:
        """One reply of `model`; see the module for what happens on the way."""
        draw = current_draw()
        sent = model.parameters(seed)
        key = call_key(model.settings.model, sent, prompt, draw, seed)
        stored = self.ledger.stored(key)
        if stored is not None:
            return stored
        if key in self._flying:
            return await asyncio.shield(self._flying[key])
        flight: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._flying[key] = flight
        try:
            reply = await self._paid_call(model, prompt, draw, sent, key)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                flight.cancel()
            else:
                flight.set_exception(error)
                flight.exception()  # it may be that nobody else waits for it
            raise
        else:
            flight.set_result(reply)
            return reply
        finally:
            del self._flying[key]

    async def _paid_call(
        self, model: LiveModel, prompt: Prompt, draw: Draw, sent: dict[str, Any], key: str
    ) -> Reply:
        system, turn = prompt.texts
        request = Request(system, turn, sent, model.settings.timeout)
        call = Call(
            model,
            request,
            draw,
            provider=self._provider_of[model.name],
            budget=self.budget,
            ledger=self.ledger,
            flights=self._flights,
            heard_out=self._say_heard_out,
        )
        try:
            reply, finish = await call.run()
        except BaseException:
            if call.faults or call.assumed:
                self._book(key, draw, model, sent, None, None, call)
            raise
        else:
            call.settle(reply.cost or 0.0)
            self._book(key, draw, model, sent, reply if call.answered else None, finish, call)
            if call.cut_off:
                raise asyncio.CancelledError
            return reply
        finally:
            call.end()

    def _book(
        self,
        key: str,
        draw: Draw,
        model: LiveModel,
        sent: dict[str, Any],
        reply: Reply | None,
        finish: str | None,
        call: Call,
    ) -> None:
        self.ledger.book(
            key,
            draw,
            model.name,
            sent,
            reply=reply,
            finish=finish,
            faults=call.faults,
            assumed=call.assumed,
            seconds=monotonic() - call.started,
        )

    def _say_heard_out(self, seconds: float) -> None:
        """Say once why a study that stops is not gone at once."""
        if not self._stopping:
            self._stopping = True
            print(  # noqa: T201
                f"swarm: stopping; answers that are under way are waited for, at most "
                f"{seconds:.0f} s (interrupt again to leave them)",
                file=sys.stderr,
            )

    async def _watch(self) -> None:
        """Name every try that is older than its limit; its caller has given it up by then."""
        named: set[int] = set()
        while True:
            await asyncio.sleep(1.0)
            now = monotonic()
            for number, flight in list(self._flights.items()):
                if now - flight.started > flight.limit + _GRACE and number not in named:
                    named.add(number)
                    draw = flight.draw
                    print(  # noqa: T201
                        f"swarm: a call of {flight.model} for {draw.stage} {draw.room} round "
                        f"{draw.round} seat {draw.seat} is older than its limit of "
                        f"{flight.limit:.0f} s; it was given up",
                        file=sys.stderr,
                    )
