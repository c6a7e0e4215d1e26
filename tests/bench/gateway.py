"""What the gateway adds to a call, and whether it grows.

    python tests/bench/gateway.py [CALLS] [MEMORY_CALLS]

CPU milliseconds of this process for each call, 200 in flight, against a stub with 50 ms latency in
another process: aiohttp alone, the direct path with everything around it (key, budget, pace,
books), litellm alone, the litellm path. Then the memory that a long run on the direct path adds.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import psutil

from swarm.log.store import Log
from swarm.log.writer import Writer
from swarm.models.base import Draw, drawing
from swarm.models.gateway import Gateway, Spending
from swarm.models.litellm_path import litellm
from swarm.models.settings import ModelSettings, Price
from swarm.prompt import Prompt, block
from swarm.study import Study

SERVER = Path(__file__).parents[1] / "support" / "fault_server.py"
IN_FLIGHT = 200
TURNS = 9
SETTLED = 1.0  # seconds in which background tasks end
SENT_TOKENS = ModelSettings(model="openai/stub").max_tokens  # both sides send the same request
PRICE = Price(input=1.0, output=2.0)
SYSTEM = block("rules", "You are on call. " * 40)
TURN = tuple(block("post", f"[round 1] Bo posts: {k} " + "x" * 60) for k in range(30))


async def cpu_of(call: Callable[[int], Awaitable[object]], calls: int) -> float:
    """CPU milliseconds a call, `IN_FLIGHT` at once."""
    todo = iter(range(calls))

    async def caller() -> None:
        for number in todo:
            await call(number)

    # litellm works on after a call has ended; all of that, and nothing of others, is counted.
    await asyncio.sleep(SETTLED)
    start = time.process_time()
    await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))
    await asyncio.sleep(SETTLED)
    return (time.process_time() - start) / calls * 1e3


async def through_gateway(
    base: str, path: str, calls: int, *, repeats: int = 1, grown: list[float] | None = None
) -> list[float]:
    """CPU milliseconds a call through the gateway, once a repeat; `grown` gets the memory, MB."""
    settings = ModelSettings(
        model="openai/stub", path=path, api_base=f"{base}/v1", concurrency=IN_FLIGHT, price=PRICE
    )  # type: ignore[arg-type]
    study = Study(rooms=1, lineup=("stub",), models={"stub": settings})
    found = []
    with tempfile.TemporaryDirectory() as folder:
        log = Log.open_or_create(Path(folder, "bench.duckdb"), study)
        with log, Writer(log) as writer:
            gateway = Gateway(log, writer, study.live_models, spending=Spending(budget_usd=1e6))
            async with gateway:
                model = gateway.models["stub"]
                model_pace = gateway._providers
                for provider in model_pace.values():
                    provider.pace.window = float(IN_FLIGHT)  # the limit is not what is measured

                async def call(number: int) -> object:
                    turn = (*TURN, block("state", f"Now {number}"))
                    with drawing(Draw("play", f"w{number}", 1, 0)):
                        return await model.reply(Prompt((SYSTEM,), turn), number)

                await cpu_of(call, IN_FLIGHT)
                for repeat in range(repeats):
                    before = psutil.Process().memory_info().rss
                    offset = (repeat + 1) * 10_000_000
                    found.append(await cpu_of(lambda n, o=offset: call(n + o), calls))
                    if grown is not None:
                        grown.append((psutil.Process().memory_info().rss - before) / 1e6)
    return found


async def main() -> None:
    """Print the table."""
    calls = int(sys.argv[1]) if sys.argv[1:] else 6000
    long = int(sys.argv[2]) if sys.argv[2:] else 64_000
    server = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    base = f"http://127.0.0.1:{int(server.stdout.readline())}"
    messages = [
        {"role": "system", "content": SYSTEM.text},
        {"role": "user", "content": "\n".join(b.text for b in TURN)},
    ]
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            control = {"latency": 0.05, "surrogate": False}
            await session.post(f"{base}/control", json=control)

            async def bare(number: int) -> None:
                body = {"model": "stub", "messages": messages, "seed": number}
                async with session.post(
                    f"{base}/v1/chat/completions", data=json.dumps(body).encode()
                ) as response:
                    await response.read()

            async def alone(number: int) -> None:
                await litellm().acompletion(
                    model="openai/stub",
                    messages=messages,
                    api_base=f"{base}/v1",
                    api_key="none",
                    seed=number,
                    max_tokens=SENT_TOKENS,
                    max_retries=0,
                    num_retries=0,
                    timeout=60,
                )

            await cpu_of(bare, 400)
            await cpu_of(alone, 200)
            rows: dict[str, list[float]] = {k: [] for k in ("aiohttp", "direct", "alone", "path")}
            for _ in range(TURNS):  # many short ones in turn, since the machine's load changes
                rows["aiohttp"].append(await cpu_of(bare, calls // TURNS))
                rows["direct"] += await through_gateway(base, "direct", calls // TURNS)
                rows["alone"].append(await cpu_of(alone, calls // TURNS))
                rows["path"] += await through_gateway(base, "litellm", calls // TURNS)
            median = {name: statistics.median(times) for name, times in rows.items()}
            ratios = [p / a for p, a in zip(rows["path"], rows["alone"], strict=True)]
            print(f"aiohttp alone        {median['aiohttp']:.2f} ms CPU a call")
            print(f"direct path, all in  {median['direct']:.2f} ms CPU a call")
            print(f"litellm alone        {median['alone']:.2f} ms CPU a call")
            print(
                f"litellm path, all in {median['path']:.2f} ms CPU a call, "
                f"{statistics.median(ratios):.2f}x litellm alone, turn by turn "
                f"{min(ratios):.2f} to {max(ratios):.2f}"
            )
            await session.post(f"{base}/control", json={"latency": 0.0})
        if long:
            grown: list[float] = []
            await through_gateway(base, "direct", long // 4, repeats=4, grown=grown)
            parts = ", ".join(f"{g:+.1f}" for g in grown)
            print(f"memory over {long:,} calls: {sum(grown):+.1f} MB (by quarter {parts})")
    finally:
        server.kill()


if __name__ == "__main__":
    asyncio.run(main())
