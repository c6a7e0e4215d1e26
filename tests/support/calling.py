"""Live calls outside rooms: a log, a gateway and some prompts, to look at one rule at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swarm.log.store import Log
from swarm.log.writer import Writer
from swarm.models.base import Draw, Reply, drawing
from swarm.models.gateway import Gateway, Spending
from swarm.models.settings import ModelSettings
from swarm.prompt import Prompt, block
from swarm.study import Study

PRICE = {"input": 1.0, "output": 2.0}
"""What the fault server bills."""


def prompt(text: str = "user") -> Prompt:
    """A prompt that no surrogate understands: the server answers with a constant."""
    return Prompt((block("system", "Answer."),), (block("user", text),))


def settings_for(base: str, path: str = "direct", **more: Any) -> ModelSettings:
    """A model behind the server at `base`, with a price, small and quick."""
    given = {
        "model": "openai/stub",
        "path": path,
        "api_base": base,
        "price": PRICE,
        "timeout": 5.0,
        "attempts": 3,
        "parameters": {"max_tokens": 50},
    }
    return ModelSettings.model_validate(given | more)


def draws(count: int) -> list[Draw]:
    """Different draws."""
    return [Draw("check", "room", replicate=i) for i in range(count)]


@dataclass
class Called:
    """What calls came to: replies in order of draws, or the exception that ended it all."""

    replies: list[Reply] = field(default_factory=list)
    error: BaseException | None = None
    faults: list[tuple[Any, ...]] = field(default_factory=list)  # fault, status, code, retry_after
    calls: list[dict[str, Any]] = field(default_factory=list)
    spent: float = 0.0
    left: int = 0  # calls that the watchdog still knows at the end


def call(
    path: Path,
    settings: ModelSettings,
    asked: Sequence[Draw] = (Draw("check"),),
    *,
    spending: Spending | None = None,
    schema: dict[str, Any] | None = None,
    together: bool = False,
    during: Callable[[Gateway], Any] | None = None,
) -> Called:
    """Make one call for each draw through a gateway on the log at `path`.

    Parameters
    ----------
    together : bool
        All at once, instead of one after another.
    during : callable, optional
        Awaited beside the calls.
    """
    found = Called()
    study = Study(rooms=1, models={"stub": settings}, room={"rounds": 1})

    async def run(log: Log, writer: Writer) -> None:
        models = {"stub": settings}
        async with Gateway(log, writer, models, schema=schema, spending=spending) as gateway:

            async def one(draw: Draw) -> Reply:
                with drawing(draw):
                    return await gateway.models["stub"].reply(prompt(), seed=draw.replicate)

            beside = asyncio.ensure_future(during(gateway)) if during else None
            try:
                if together:
                    async with asyncio.TaskGroup() as group:
                        tasks = [group.create_task(one(draw)) for draw in asked]
                    found.replies += [task.result() for task in tasks]
                else:
                    for draw in asked:
                        found.replies.append(await one(draw))
            finally:
                if beside is not None:
                    await beside
                found.spent = gateway.budget.spent
                found.left = len(gateway._flights)

    with Log.open_or_create(path, study) as log:
        try:
            with Writer(log) as writer:
                asyncio.run(run(log, writer))
        except Exception as error:  # noqa: BLE001  the test looks at it
            found.error = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
        found.faults = log.rows("SELECT fault, status, code, retry_after, seconds FROM faults")
        names = [name for name, *_ in log.rows("DESCRIBE calls")]
        rows = log.rows("SELECT * FROM calls")
        found.calls = [dict(zip(names, row, strict=True)) for row in rows]
    return found
