"""How near the adaptive pace comes to a limit it is not told, and how soon after the limit moves.

    python tests/bench/pace.py [SECONDS]

For each hidden limit of a stub (50 calls at once, 250 ms each; 1,000 a minute, 50 ms each): the
share of the limit that is used and the share of refusals, in the first minute, after the limit
halves and after it doubles again.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import aiohttp

from swarm.models.faults import CallFailed, Fault
from swarm.models.pace import Pace
from swarm.models.settings import ModelSettings

SERVER = Path(__file__).parents[1] / "support" / "fault_server.py"
LATENCY = {"at_once": 0.25, "per_minute": 0.05}
CALLERS = 200


async def phase(pace: Pace, send: object, seconds: float) -> tuple[int, int, float]:
    """(answered, refused, answered a second over the last half) of `seconds` at full demand."""
    answered: list[float] = []
    refused = 0
    start = time.monotonic()

    async def caller() -> None:
        nonlocal refused
        while time.monotonic() - start < seconds:
            async with pace.slot() as slot:
                if time.monotonic() - start > seconds:
                    return
                slot.started = time.monotonic()
                try:
                    await send()  # type: ignore[operator]
                except CallFailed as failed:
                    if failed.fault is not Fault.RATE_LIMITED:
                        raise
                    refused += 1
                    slot.refused = True
                    slot.retry_after = failed.retry_after
                else:
                    slot.answered = True
                    answered.append(time.monotonic() - start)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    late = sum(at > seconds / 2 for at in answered)
    return len(answered), refused, late / (seconds / 2)


async def main() -> None:
    """Print a line for each limit and phase."""
    seconds = float(sys.argv[1]) if sys.argv[1:] else 60.0
    server = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    base = f"http://127.0.0.1:{int(server.stdout.readline())}"
    from swarm.models.direct import Direct
    from swarm.models.transport import Request

    settings = ModelSettings(model="stub", path="direct", api_base=f"{base}/v1")
    direct = Direct(settings)
    request = Request("s", "t", {"max_tokens": 10}, 30.0)
    print(f"{'hidden limit':<18}{'phase':<10}{'used':>8}{'429s':>8}{'used, 2nd half':>16}")
    try:
        async with aiohttp.ClientSession() as session:
            for name, limit in (("at_once", 50), ("per_minute", 1000)):
                pace = Pace(500)
                for title, factor in (("found", 1.0), ("halved", 0.5), ("doubled", 1.0)):
                    control = {
                        "at_once": 0,
                        "per_minute": 0,
                        "latency": LATENCY[name],
                        "surrogate": False,
                        name: int(limit * factor),
                    }
                    await session.post(f"{base}/control", json=control)
                    answered, refused, late = await phase(
                        pace, lambda: direct.send(request), seconds
                    )
                    best = limit * factor / (LATENCY[name] if name == "at_once" else 60.0)
                    print(
                        f"{limit * factor:>5.0f} {name:<12}{title:<10}"
                        f"{answered / seconds / best:>8.1%}{refused / (answered + refused):>8.2%}"
                        f"{late / best:>16.1%}   window {pace.window:.2f}"
                    )
    finally:
        await direct.close()
        server.kill()


if __name__ == "__main__":
    asyncio.run(main())
