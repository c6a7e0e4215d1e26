"""Nothing is paid for twice: same call, same reply; another draw, another call.

And what was sent is what the log says was sent.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from calling import PRICE, call, draws, prompt, settings_for
from serving import Server

from swarm.errors import ModelError
from swarm.log.store import Log
from swarm.log.tables import batch_of
from swarm.models.base import Draw, Reply, drawing
from swarm.models.gateway import Gateway
from swarm.models.ledger import call_key
from swarm.prompt import Prompt, block

TURN = Draw("play", "w000_r0", round=1, seat=2)
SCHEMA = {"type": "object", "properties": {"post": {"type": "string"}}, "required": ["post"]}


def test_the_same_call_at_the_same_time_is_made_once(server: Server, tmp_path: Path) -> None:
    server.control(latency=0.1)
    found = call(tmp_path / "log", settings_for(server.base), [TURN] * 5, together=True)
    assert server.books()["asked"] == len(found.calls) == 1
    assert len(found.replies) == 5
    assert len({id(reply) for reply in found.replies}) == 1


def test_who_waits_for_another_call_shares_its_fault(server: Server, tmp_path: Path) -> None:
    server.control(latency=0.1, script=["401"])
    found = call(tmp_path / "log", settings_for(server.base), [TURN] * 3, together=True)
    assert isinstance(found.error, ModelError)
    assert server.books()["asked"] == 1


@pytest.mark.parametrize(
    "other",
    [
        {"stage": "replay"},
        {"room": "w000_r1"},
        {"round": 2},
        {"seat": 3},
        {"removed": 7},
        {"replicate": 1},
        {"attempt": 1},
    ],
)
def test_another_draw_of_the_same_prompt_is_another_call(other: dict[str, int]) -> None:
    asked = Prompt((block("system", "s"),), (block("user", "u"),))
    key = call_key("m", {}, asked, TURN, 1)
    assert call_key("m", {}, asked, replace(TURN, **other), 1) != key
    assert call_key("m", {}, asked, replace(TURN), 1) == key


def test_replicates_are_samples_of_their_own(server: Server, tmp_path: Path) -> None:
    found = call(tmp_path / "log", settings_for(server.base, seed="off"), draws(4), together=True)
    assert server.books()["asked"] == len({row["key"] for row in found.calls}) == 4


@pytest.mark.parametrize("other", ["model", "parameters", "prompt", "seed"])
def test_another_model_parameter_prompt_or_seed_is_another_call(other: str) -> None:
    asked = Prompt((block("system", "s"),), (block("user", "u"),))
    changed = Prompt((block("system", "s"),), (block("user", "v"),))
    assert call_key("m", {"t": 1}, asked, TURN, 1) != call_key(
        "n" if other == "model" else "m",
        {"t": 2 if other == "parameters" else 1},
        changed if other == "prompt" else asked,
        TURN,
        2 if other == "seed" else 1,
    )


def test_a_reply_that_was_paid_for_and_not_used_is_used_once(
    server: Server, tmp_path: Path
) -> None:
    path, settings = tmp_path / "log", settings_for(server.base)
    first = call(path, settings, [TURN]).replies[0]
    again = call(path, settings, [TURN, TURN])
    assert again.replies[0] == first
    assert server.books()["asked"] == 2  # the second time it is asked in one run
    assert len(again.calls) == 2


def test_a_reply_that_was_used_is_not_used_again(server: Server, tmp_path: Path) -> None:
    path, settings = tmp_path / "log", settings_for(server.base)
    call(path, settings, [TURN])
    with Log.open(path) as log:
        columns = [name for name, *_ in log.rows("DESCRIBE turns")]
        row = {"room": TURN.room, "round": TURN.round, "seat": TURN.seat}
        batch = batch_of({"turns": [tuple(row.get(name) for name in columns)]})["turns"]
        log.con.register("batch", batch)
        log.con.execute("INSERT INTO turns SELECT * FROM batch")
    call(path, settings, [TURN])
    assert server.books()["asked"] == 2


def test_a_failed_call_is_made_again(server: Server, tmp_path: Path) -> None:
    path, settings = tmp_path / "log", settings_for(server.base, attempts=1)
    server.control(script=["500"])
    assert call(path, settings, [TURN]).replies[0].failed
    assert call(path, settings, [TURN]).replies[0].failed is None
    assert server.books()["asked"] == 2


async def started(gateway: Gateway, server: Server, asked: int) -> asyncio.Task[Reply]:
    """A call that has been sent so many times."""
    with drawing(TURN):
        task = asyncio.ensure_future(gateway.models["stub"].reply(prompt(), seed=TURN.replicate))
    while server.books()["asked"] < asked:
        await asyncio.sleep(0.01)
    return task


def test_a_call_that_is_cut_off_is_heard_out_and_kept(server: Server, tmp_path: Path) -> None:
    path, settings = tmp_path / "log", settings_for(server.base)
    server.control(latency=0.4)

    async def cut(gateway: Gateway) -> None:
        task = await started(gateway, server, 1)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()

    found = call(path, settings, (), during=cut)
    assert found.error is None
    [row] = found.calls
    assert (row["status"], found.spent) == ("ok", pytest.approx(row["cost"]))
    assert call(path, settings, [TURN]).replies[0].text == row["reply"]
    assert server.books()["asked"] == 1


def test_a_call_that_is_cut_off_is_not_tried_again(server: Server, tmp_path: Path) -> None:
    server.control(latency=0.3, script=["500"])

    async def cut(gateway: Gateway) -> None:
        task = await started(gateway, server, 1)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()

    found = call(tmp_path / "log", settings_for(server.base), (), during=cut)
    assert found.error is None
    assert server.books()["asked"] == 1
    assert [row["status"] for row in found.calls] == ["failed"]
    assert [fault[:2] for fault in found.faults] == [("server error", 500)]


def test_a_call_that_is_cut_off_twice_is_left(server: Server, tmp_path: Path) -> None:
    server.control(script=["close mid-body", "hang"])

    async def cut(gateway: Gateway) -> None:
        task = await started(gateway, server, 2)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.05)
        await asyncio.wait({task}, timeout=1.0)
        assert task.cancelled()

    found = call(tmp_path / "log", settings_for(server.base), (), during=cut)
    assert found.error is None
    assert (len(found.calls), len(found.faults)) == (1, 1)
    [row] = found.calls
    assert (row["status"], row["cost"]) == ("failed", None)
    # Two tries were sent, and nobody knows whether they are billed.
    assert found.spent == row["assumed"] > 2 * 50 * PRICE["output"] / 1e6


def test_a_stored_reply_that_was_cut_off_stays_cut_off(server: Server, tmp_path: Path) -> None:
    path, settings = tmp_path / "log", settings_for(server.base)
    server.control(script=["finish_reason length"])
    first = call(path, settings, [TURN]).replies[0]
    assert first.failed
    assert call(path, settings, [TURN]).replies[0] == first
    assert server.books()["asked"] == 1


@pytest.mark.parametrize("path", ["direct", "litellm"])
def test_the_log_says_what_was_sent(server: Server, tmp_path: Path, path: str) -> None:
    parameters = {"max_tokens": 77, "temperature": 0.3, "top_p": 0.9}
    settings = settings_for(
        server.base, path, parameters=parameters, seed="on", schema="on", timeout=20.0
    )
    found = call(tmp_path / "log", settings, [replace(TURN, replicate=31)], schema=SCHEMA)
    sent, received = json.loads(found.calls[0]["sent"]), server.books()["last"]
    assert received.pop("model") == "stub"
    assert sent == received
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert {name: sent[name] for name in parameters} == parameters
    assert sent["seed"] == 31


@pytest.mark.parametrize("path", ["direct", "litellm"])
def test_no_seed_and_no_schema_are_sent_when_they_are_off(
    server: Server, tmp_path: Path, path: str
) -> None:
    settings = settings_for(server.base, path, seed="off", schema="off")
    found = call(tmp_path / "log", settings, schema=SCHEMA)
    assert server.books()["last"] == {"model": "stub", "max_tokens": 50}
    assert json.loads(found.calls[0]["sent"]) == {"max_tokens": 50}


def test_a_provider_that_takes_no_seed_is_sent_none() -> None:
    from swarm.models.live import LiveModel
    from swarm.models.settings import ModelSettings

    def sent(**given: str) -> dict[str, object]:
        settings = ModelSettings.model_validate(given)
        return LiveModel(None, "x", settings, None, None, SCHEMA).parameters(5)  # type: ignore[arg-type]

    assert "seed" not in sent(model="anthropic/claude-sonnet-4-5")
    assert sent(model="openai/gpt-4o")["seed"] == 5
    assert sent(model="x", path="direct", api_base="http://a")["seed"] == 5


def test_what_the_provider_says_of_itself_is_kept(server: Server, tmp_path: Path) -> None:
    server.control(usage={"completion_tokens_details": {"reasoning_tokens": 3}})
    [row] = call(tmp_path / "log", settings_for(server.base)).calls
    assert (row["served_by"], row["fingerprint"], row["finish"]) == ("stub", "stub", "stop")
    assert (row["stage"], row["model"], row["tries"]) == ("check", "stub", 1)
    assert row["tokens_in"] > 0
    assert row["tokens_out"] > 0
    assert row["tokens_reasoning"] == 3
    assert row["latency"] > 0
    assert row["seconds"] >= row["latency"]
