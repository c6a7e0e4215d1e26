"""The single boundary between the engine and whatever answers: `Model.reply`.

A model sees the prompt and a seed, nothing else. litellm models, surrogate agents, recorded
replies and people all stand behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from swarm.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Intent:
    """A directive that a surrogate meant to give; only evaluations read it."""

    teammate: str
    kind: str
    target: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, and what it took.

    Attributes
    ----------
    text : str
        The reply as the model wrote it.
    reasoning : str or None
        The model's reasoning text, where the provider gives it.
    tokens_in, tokens_cached, tokens_out, tokens_reasoning : int or None
        Usage as the provider states it; None is unknown, not zero.
    cost : float or None
        US dollars; None is unknown, not free.
    latency : float
        Seconds; measured for live models, drawn for surrogates.
    served_by, fingerprint : str or None
        The provider's own name of the model and of its configuration.
    intents : tuple of Intent
        Directives that a surrogate meant; empty for every other model.
    failed : str or None
        Why this is no usable reply, whatever its text: it was cut off, or a fault outlasted all
        tries of the call.
    final : bool
        Asking again is of no use.
    """

    text: str
    reasoning: str | None = None
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    cost: float | None = None
    latency: float = 0.0
    served_by: str | None = None
    fingerprint: str | None = None
    intents: tuple[Intent, ...] = field(default=())
    failed: str | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Draw:
    """Which sample a call draws: the books of live calls are kept by it.

    Without it two replicates of one prompt would count as the same call, and the second would get
    the first one's stored reply.

    Attributes
    ----------
    stage : str
        ``play``, ``replay``, ``check``, ...
    room : str
    round, seat : int
    removed : int
        Block taken out of the prompt, 0 for none.
    replicate, attempt : int
    """

    stage: str
    room: str = ""
    round: int = 0
    seat: int = 0
    removed: int = 0
    replicate: int = 0
    attempt: int = 0

    def fields(self) -> tuple[str, str, int, int, int, int, int]:
        """All of it, in order; dataclasses.astuple would copy deeply, at a call's price."""
        return (
            self.stage,
            self.room,
            self.round,
            self.seat,
            self.removed,
            self.replicate,
            self.attempt,
        )


_draw: ContextVar[Draw | None] = ContextVar("draw", default=None)


@contextmanager
def drawing(draw: Draw) -> Iterator[None]:
    """Within it, calls of live models are booked as `draw`. No model reads it."""
    token = _draw.set(draw)
    try:
        yield
    finally:
        _draw.reset(token)


def current_draw() -> Draw:
    """The draw that the running call belongs to."""
    return _draw.get() or Draw("other")


class Model(Protocol):
    """Whatever answers prompts.

    Attributes
    ----------
    name : str
        As the study writes it.
    surrogate : bool
        True for scripted agents; every table and report of theirs says so.
    """

    @property
    def name(self) -> str: ...

    @property
    def surrogate(self) -> bool: ...

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        """Answer `prompt`; the same prompt and seed may give the same reply, if the model can.

        Raises
        ------
        swarm.errors.ModelError
            When the model cannot answer now and the study should stop.
        """
        ...
