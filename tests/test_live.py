"""Rooms through litellm, over real HTTP, against the surrogates' own endpoint.

The endpoint plays the same surrogates, so a room through it must be the room that is played in
process: same replies, same decisions, same end.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import duckdb
import pytest
from aiohttp import web

from swarm.__main__ import main
from swarm.models.server import make_app
from swarm.scenario import scenario_named

MODELS = ("claude-sonnet-5.5", "gpt-6.1-sol", "gemini-3.1-pro", "kimi-k3")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Base URL of the surrogates' endpoint, on a free port of this machine."""
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(make_app(scenario_named("outage")))
    loop.run_until_complete(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", 0)
    loop.run_until_complete(site.start())
    port = runner.addresses[0][1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}/v1"
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(runner.cleanup())
    loop.close()


def post(url: str, body: object) -> tuple[int, dict[str, object]]:
    async def call() -> tuple[int, dict[str, object]]:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/chat/completions", json=body) as response,
        ):
            return response.status, await response.json()

    return asyncio.run(call())


def test_a_room_through_litellm_is_the_room_in_process(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-marked-secret")
    here, there = tmp_path / "here.duckdb", tmp_path / "there.duckdb"
    common = ["--rooms", "4", "--seed", "6", "--jobs", "1"]
    assert main(["run", *common, "--models", ",".join(MODELS), "--out", str(here)]) == 0
    served = ",".join(f"openai/{model}" for model in MODELS)
    assert (
        main(["run", *common, "--models", served, "--price-unknown-ok", "--out", str(there)]) == 0
    )
    same = {
        "turns": "room, round, position, seat, attempts, status, reply, note, post, query, file, "
        "reasoning, tokens_in, tokens_out",
        "prompts": "*",
        "blocks": "*",
        "filings": "*",
        "cards": "*",
        "outcomes": "* EXCLUDE (seconds)",
        "directives": "*",
        "replays": "room, round, seat, removed, replicate, seed, status, query, file, reply",
        "influences": "*",
    }
    with duckdb.connect(str(here), read_only=True) as a, duckdb.connect(str(there)) as b:
        for table, columns in same.items():
            query = f"SELECT {columns} FROM {table} ORDER BY ALL"
            one, other = a.execute(query).fetchall(), b.execute(query).fetchall()
            assert one == other, table
            assert one or table in ("filings", "replays", "influences", "directives"), table
        assert b.execute("SELECT count(*) FROM turns WHERE latency > 0").fetchone() != (0,)
        assert b.execute("SELECT surrogates FROM studies").fetchone() == ([],)
    assert b"sk-marked-secret" not in there.read_bytes()


def test_one_seat_can_be_live_and_the_others_scripted(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    path = tmp_path / "mixed.duckdb"
    assert (
        main(
            [
                "run",
                "--rooms",
                "2",
                "--model",
                "openai/kimi-k3=Ada",
                "--price-unknown-ok",
                "--out",
                str(path),
            ]
        )
        == 0
    )
    with duckdb.connect(str(path), read_only=True) as con:
        live = con.execute(
            "SELECT DISTINCT name FROM seats WHERE model = 'openai/kimi-k3'"
        ).fetchall()
    assert live == [("Ada",)]


def test_a_provider_that_refuses_is_one_line(
    endpoint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-marked-secret")
    path = tmp_path / "refused.duckdb"
    assert (
        main(
            [
                "run",
                "--rooms",
                "1",
                "--models",
                "openai/nobody",
                "--price-unknown-ok",
                "--out",
                str(path),
            ]
        )
        == 2
    )
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "openai/nobody" in lines[0]
    assert "sk-marked-secret" not in lines[0]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"model": "kimi-k3"}, 400, "messages"),
        ({"model": "kimi-k3", "messages": [{"role": "user", "content": "hi"}]}, 400, "system"),
        ([], 400, "not an object"),
        (
            {
                "model": "kimi-k3",
                "seed": "x",
                "messages": [
                    {"role": "system", "content": "a"},
                    {"role": "user", "content": "b"},
                ],
            },
            400,
            "seed",
        ),
        (
            {
                "model": "kimi-k3",
                "messages": [
                    {"role": "system", "content": "a"},
                    {"role": "user", "content": "b"},
                ],
            },
            400,
            "outage room",
        ),
        (
            {
                "model": "nobody",
                "messages": [
                    {"role": "system", "content": "a"},
                    {"role": "user", "content": "b"},
                ],
            },
            404,
            "nobody",
        ),
    ],
)
def test_the_endpoint_says_what_is_wrong_with_a_request(
    endpoint: str, body: object, status: int, says: str
) -> None:
    got, answer = post(endpoint, body)
    assert got == status
    assert says in json.dumps(answer)
