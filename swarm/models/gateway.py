"""Live models through litellm.

litellm translates between providers and nothing else: its retries, router, cache and budgets stay
off. It is imported when the first live model is made, because that takes seconds.
"""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from functools import cache
from typing import Any

from swarm.errors import ModelError
from swarm.models.base import Reply
from swarm.prompt import Prompt

CALL_SECONDS = 300.0
"""Hard limit of one call; litellm's own default is 6,000 s."""


@cache
def litellm() -> Any:
    """The litellm module, told to fetch nothing and to load no ``.env``."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic's, about litellm's own types
        import litellm as module

    module.suppress_debug_info = True
    module.telemetry = False
    return module


def provider_of(name: str) -> str | None:
    """The provider that litellm would send `name` to, None when it knows none."""
    module = litellm()
    try:
        _, provider, _, _ = module.get_llm_provider(model=name)
    except module.exceptions.BadRequestError:
        return None
    return str(provider)


class LiteLLMModel:
    """A model as litellm names it, e.g. ``openai/gpt-...``; keys come from the environment."""

    surrogate = False

    def __init__(self, name: str) -> None:
        self.name = name

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        """One chat completion; see `swarm.models.base.Model.reply`.

        Raises
        ------
        ModelError
            When the provider refuses, or cannot be reached.
        """
        module = litellm()
        system, turn = prompt.texts
        messages = [{"role": "system", "content": system}, {"role": "user", "content": turn}]
        parameters: dict[str, Any] = {"seed": seed} if _takes_seed(self.name) else {}
        start = time.monotonic()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await module.acompletion(
                    model=self.name,
                    messages=messages,
                    timeout=CALL_SECONDS,
                    max_retries=0,
                    num_retries=0,
                    **parameters,
                )
        except TimeoutError as error:
            raise ModelError(f"{self.name}: no answer within {CALL_SECONDS:.0f} s") from error
        except Exception as error:
            # litellm's exceptions share no base but openai's and Exception.
            if type(error).__module__.split(".")[0] not in ("litellm", "openai"):
                raise
            kind = type(error).__name__
            raise ModelError(
                f"{self.name}: the provider refused or could not be reached ({kind}); check "
                "its key, name and address"
            ) from error
        return _reply_of(answer, time.monotonic() - start)


@cache
def _takes_seed(name: str) -> bool:
    known = litellm().get_supported_openai_params(model=name) or []
    return "seed" in known


def _reply_of(answer: Any, seconds: float) -> Reply:
    message = answer.choices[0].message
    usage = getattr(answer, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    output = getattr(usage, "completion_tokens_details", None)
    tokens_in = getattr(usage, "prompt_tokens", None) or None  # zero means that nobody counted
    try:
        cost = litellm().completion_cost(completion_response=answer) if tokens_in else None
    except Exception:  # noqa: BLE001  litellm raises many kinds for a model without a price
        cost = None
    return Reply(
        text=message.content or "",
        reasoning=getattr(message, "reasoning_content", None),
        tokens_in=tokens_in,
        tokens_cached=getattr(details, "cached_tokens", None),
        tokens_out=getattr(usage, "completion_tokens", None) if tokens_in else None,
        tokens_reasoning=getattr(output, "reasoning_tokens", None),
        cost=cost,
        latency=seconds,
        served_by=getattr(answer, "model", None),
        fingerprint=getattr(answer, "system_fingerprint", None),
    )
