"""What a live call sends and gets, whichever way it goes.

Two ways lead to a provider: through litellm (`swarm.models.litellm_path`) and straight to an
OpenAI-compatible server (`swarm.models.direct`). Both take a `Request` and give an `Answer` or
raise `CallFailed`; everything around a call is the gateway's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from swarm.models.faults import CallFailed, Fault
from swarm.repair import MAX_REPLY
from swarm.text import storable


@dataclass(frozen=True, slots=True)
class Request:
    """One chat completion.

    Attributes
    ----------
    system, turn : str
        The two texts of the prompt.
    parameters : dict
        Everything else that is sent, as it is sent: max_tokens, seed, response_format, ...
    timeout : float
        Seconds.
    """

    system: str
    turn: str
    parameters: dict[str, Any]
    timeout: float

    @property
    def messages(self) -> list[dict[str, str]]:
        """As chat messages."""
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.turn},
        ]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a provider answered; see `swarm.models.base.Reply` for the fields."""

    text: str
    finish: str | None
    reasoning: str | None
    tokens_in: int | None
    tokens_cached: int | None
    tokens_out: int | None
    tokens_reasoning: int | None
    served_by: str | None
    fingerprint: str | None


class Transport(Protocol):
    """A way to a provider."""

    async def send(self, request: Request) -> Answer:
        """Make one try.

        Raises
        ------
        CallFailed
            With the class of the fault; nothing of the provider's message is in it.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def unusable(finish: str | None) -> str | None:
    """Why a reply that ended for the reason `finish` is none, whatever its text."""
    return "cut off at max_tokens" if finish == "length" else None


def _count(value: Any) -> int | None:
    """A number of tokens, None when it is anything else."""
    return value if type(value) is int and 0 <= value < 2**31 else None


def _word(value: Any) -> str | None:
    return storable(value[:MAX_REPLY]) if isinstance(value, str) and value else None


def answer_of(body: Any) -> Answer:
    """Read a chat completion, given as a dict.

    A usage of zero prompt tokens means that nobody counted: such counts are unknown, not zero.

    Raises
    ------
    CallFailed
        `Fault.BAD_BODY`, when it is no chat completion.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        if isinstance(text, list):
            text = "".join(str(part.get("text", "")) for part in text)
        usage = body.get("usage") or {}
        tokens_in = _count(usage.get("prompt_tokens")) or None
        inside = usage.get("prompt_tokens_details") or {}
        out = usage.get("completion_tokens_details") or {}
        # Kimi reports cached tokens beside the others, not among the details.
        cached = inside.get("cached_tokens", usage.get("cached_tokens"))
        return Answer(
            text=storable(str(text)[:MAX_REPLY]),
            finish=_word(choice.get("finish_reason")),
            reasoning=_word(message.get("reasoning_content") or message.get("reasoning")),
            tokens_in=tokens_in,
            tokens_cached=_count(cached) if tokens_in else None,
            tokens_out=_count(usage.get("completion_tokens")) if tokens_in else None,
            tokens_reasoning=_count(out.get("reasoning_tokens")) if tokens_in else None,
            served_by=_word(body.get("model")),
            fingerprint=_word(body.get("system_fingerprint")),
        )
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise CallFailed(Fault.BAD_BODY) from error
