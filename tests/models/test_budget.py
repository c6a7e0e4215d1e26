"""The cap holds whatever happens, and is made use of."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import virtual
from calling import PRICE, call, draws, settings_for
from hypothesis import given, settings
from hypothesis import strategies as st
from kill_live import kill_after, run, start, write_study
from serving import Server

from swarm.__main__ import main
from swarm.errors import ModelError
from swarm.log.store import Log
from swarm.models.base import Draw
from swarm.models.breaker import Breaker
from swarm.models.budget import Budget
from swarm.models.call import Call, Provider
from swarm.models.faults import BudgetExhausted, CallFailed, Fault
from swarm.models.gateway import Spending
from swarm.models.live import LiveModel
from swarm.models.pace import Pace
from swarm.models.settings import ModelSettings, Price
from swarm.models.transport import Answer, Request, answer_of


class Billing:
    """A transport whose provider bills at most the worst case, also for some answers that are lost.

    Its books are its own: what it billed is what a run has truly spent.
    """

    def __init__(self, price: Price, dice: random.Random, lost: float) -> None:
        self.price = price
        self.dice = dice
        self.lost = lost
        self.billed = 0.0

    async def send(self, request: Request) -> Answer:
        tokens_in = int(len(request.system + request.turn) / self.dice.uniform(3.0, 6.0))
        tokens_out = self.dice.randint(1, request.parameters["max_tokens"])
        self.billed += (tokens_in * self.price.input + tokens_out * self.price.output) / 1e6
        await asyncio.sleep(self.dice.uniform(0.1, 2.0))
        if self.dice.random() < self.lost:
            raise CallFailed(self.dice.choice([Fault.TIMEOUT, Fault.CONNECTION, Fault.BAD_BODY]))
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        message = {"message": {"content": "ok"}, "finish_reason": "stop"}
        return answer_of({"choices": [message], "usage": usage})

    async def close(self) -> None: ...


class NoLedger:
    def allow(self, amount: float) -> None: ...


@dataclass
class Spent:
    cap: float
    worst: float  # of the dearest call
    billed: float
    booked: float
    reserved: float


async def spend(seed: int, *, calls: float, lost: float, cancelled: float) -> Spent:
    """A run of real `Call`s until the budget, of about `calls` worst cases, is exhausted."""
    dice = random.Random(seed)
    price = Price(input=dice.uniform(0.1, 20), output=dice.uniform(0.1, 80))
    setting = ModelSettings(
        model="openai/stub",
        path="direct",
        api_base="http://nowhere",
        parameters={"max_tokens": dice.randint(50, 2000)},
        timeout=30.0,
    )
    billing = Billing(price, dice, lost)
    model = LiveModel(None, "stub", setting, price, billing, None)  # type: ignore[arg-type]
    length = dice.randint(100, 6000)
    worst = model.worst_case(Request("", "x" * length, model.parameters(1), 30.0))
    budget = Budget(calls * worst)
    provider = Provider(Pace(dice.randint(1, 60), clock=virtual.now), Breaker("stub"))

    async def one() -> None:
        turn = "x" * dice.randint(length // 2, length)
        made = Call(
            model,
            Request("", turn, model.parameters(1), 30.0),
            Draw("check"),
            provider=provider,
            budget=budget,
            ledger=NoLedger(),  # type: ignore[arg-type]
            flights={},
        )
        try:  # as the gateway does
            reply, _ = await made.run()
            made.settle(reply.cost or 0.0)
        finally:
            made.end()

    async def caller() -> None:
        while True:
            task = asyncio.ensure_future(one())
            if dice.random() < cancelled:
                await asyncio.wait({task}, timeout=dice.uniform(0, 1))
                task.cancel()
                await asyncio.wait({task})
            else:
                await task

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(dice.randint(1, 60)):
                group.create_task(caller())
    except* BudgetExhausted:
        pass
    return Spent(budget.cap or 0.0, worst, billing.billed, budget.spent, budget.reserved)


def test_a_thousand_runs_never_overspend_and_use_nearly_all() -> None:
    dice = random.Random(9)
    used = []
    for seed in range(1000):
        # From 20 to 120 of the dearest calls: smaller caps cannot be used up by whole calls.
        calls = 20 * 6 ** dice.random()
        spent = virtual.run(spend(seed, calls=calls, lost=0.02, cancelled=0.02))
        assert spent.billed <= spent.booked * (1 + 1e-9), seed
        assert spent.booked <= spent.cap * (1 + 1e-9), seed
        assert spent.reserved == 0, seed
        used.append(spent.booked / spent.cap)
    assert sum(used) / len(used) >= 0.95


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.floats(0.1, 30), st.floats(0, 0.5), st.floats(0, 0.5))
def test_no_run_overspends_whatever_its_cap_and_its_faults(
    seed: int, calls: float, lost: float, cancelled: float
) -> None:
    spent = virtual.run(spend(seed, calls=calls, lost=lost, cancelled=cancelled))
    assert spent.billed <= spent.booked * (1 + 1e-9) <= spent.cap * (1 + 1e-8)
    assert spent.booked >= spent.cap - spent.worst * (1 + 1e-9)
    assert spent.reserved == 0


def test_who_waits_for_money_is_served_in_turn_and_cancelled_waiters_lose_nothing() -> None:
    async def work() -> list[str]:
        budget, order = Budget(10.0), []

        async def want(name: str, amount: float) -> None:
            await budget.reserve(amount)
            order.append(name)

        await budget.reserve(8.0)
        tasks = [asyncio.create_task(want(*one)) for one in (("a", 5.0), ("b", 1.0), ("c", 5.0))]
        await asyncio.sleep(0)
        assert order == []  # b would fit, but a was first
        tasks[0].cancel()
        budget.settle(8.0, 2.0)
        tasks[1].cancel()  # in the moment in which it is served
        await asyncio.wait(tasks)
        assert (budget.reserved, budget.spent) == (5.0, 2.0)
        return order

    assert asyncio.run(work()) == ["c"]


def test_what_is_billed_stays_under_the_cap_over_restarts(server: Server, tmp_path: Path) -> None:
    server.control(script=["", "close mid-body", "null usage", "500", "slow drip"] * 3)
    cap, asked = 0.0012, draws(60)
    settings = settings_for(server.base, timeout=0.5, concurrency=8)
    for _ in range(3):
        found = call(tmp_path / "log", settings, asked, spending=Spending(cap), together=True)
        assert isinstance(found.error, BudgetExhausted)
        assert server.books()["billed"] <= found.spent <= cap
    assert found.spent >= 0.9 * cap
    before = server.books()["asked"]
    more = call(tmp_path / "log", settings, draws(1), spending=Spending(2 * cap))
    assert more.error is None
    assert server.books()["asked"] > before


def test_the_cap_holds_when_runs_are_killed_and_costs_says_so(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.control(latency=0.05)
    cap = 0.25
    study = write_study(tmp_path / "study.toml", server.base, 60, 4, 4)
    log = tmp_path / "log.duckdb"
    for kills in (1, 2):
        asked = server.books()["asked"]
        process = start(study, log, ["--budget-usd", str(cap)])
        assert kill_after(process, server, asked + 20 * kills, 0.1)
    with Log.open(log) as opened:
        lost = opened.value("SELECT sum(amount) FROM allowances WHERE NOT closed")
    assert lost > 0
    errors = run(study, log, ["--budget-usd", str(cap)], code=2)
    assert "budget of $0.2500 is exhausted" in errors
    assert len(errors.splitlines()) == 1
    billed = server.books()["billed"]
    assert 0.5 * cap < billed <= cap
    assert main(["costs", str(log)]) == 0
    printed = capsys.readouterr().out
    assert "live" in printed
    total = float(printed.partition("US dollars in all: ")[2].split(",")[0])
    assert billed <= total <= cap + 1e-4
    assert "that killed runs may have lost" in printed


def test_a_model_without_a_price_is_refused_unless_it_is_borne(
    server: Server, tmp_path: Path
) -> None:
    settings = settings_for(server.base, price=None)
    refused = call(tmp_path / "log", settings)
    assert isinstance(refused.error, ModelError)
    assert "price" in str(refused.error)
    assert "--price-unknown-ok" in str(refused.error)
    both = call(tmp_path / "log", settings, spending=Spending(1.0, True))
    assert isinstance(both.error, ModelError)
    assert server.books()["asked"] == 0
    borne = call(tmp_path / "log", settings, spending=Spending(None, True))
    assert borne.error is None
    assert [row["cost"] for row in borne.calls] == [None]


def test_prices_are_copied_into_the_log_and_stay(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = settings_for(server.base, "litellm", model="openai/gpt-4o", price=None)
    call(tmp_path / "log", listed)
    with Log.open(tmp_path / "log") as log:
        [row] = log.rows("SELECT model, input, cached, output, source FROM prices")
    assert row == ("stub", 2.5, 1.25, 10.0, "litellm")
    monkeypatch.setattr("swarm.models.litellm_path.listed_price", lambda _: (9.0, 9.0, 9.0))
    found = call(tmp_path / "log", listed, draws(2)[1:])
    reply = found.replies[0]
    assert reply.cost == pytest.approx(
        ((reply.tokens_in or 0) * 2.5 + (reply.tokens_out or 0) * 10) / 1e6
    )


USAGE: dict[str, tuple[dict[str, Any], Callable[[float], float]]] = {
    "plain": ({}, lambda worst: (1000 * 1 + 40 * 2) / 1e6),
    "openai": (
        {"prompt_tokens_details": {"cached_tokens": 600}},
        lambda worst: (400 * 1 + 600 * 0.1 + 40 * 2) / 1e6,
    ),
    "kimi": ({"cached_tokens": 600}, lambda worst: (400 * 1 + 600 * 0.1 + 40 * 2) / 1e6),
    "zero": ({"prompt_tokens": 0, "completion_tokens": 0}, lambda worst: worst),
    "null": ({"prompt_tokens": None, "completion_tokens": None}, lambda worst: worst),
    "half": ({"prompt_tokens": 3, "completion_tokens": None}, lambda worst: worst),
    "absurd": ({"prompt_tokens": "many", "completion_tokens": -3}, lambda worst: worst),
}


@pytest.mark.parametrize("name", USAGE)
def test_a_reply_costs_what_its_tokens_cost_and_the_worst_when_nobody_counted(
    server: Server, tmp_path: Path, name: str
) -> None:
    usage, cost = USAGE[name]
    server.control(usage={"prompt_tokens": 1000, "completion_tokens": 40} | usage)
    worst = []
    found = call(
        tmp_path / "log",
        settings_for(server.base, price={**PRICE, "cached": 0.1}),
        during=lambda gateway: _noted(worst, gateway.models["stub"]),
    )
    assert found.error is None
    [row] = found.calls
    assert (row["tokens_in"] is None) == (name in ("zero", "null", "absurd"))
    assert row["cost"] == found.replies[0].cost == pytest.approx(cost(worst[0]))
    assert found.spent == pytest.approx(cost(worst[0]))


async def _noted(worst: list[float], model: LiveModel) -> None:
    from calling import prompt

    worst.append(model.worst_case(Request(*prompt().texts, model.parameters(0), 5.0)))
