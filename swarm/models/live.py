"""A live model as the study describes it: what it is sent, what a reply costs, when it stops."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from aiolimiter import AsyncLimiter

from swarm.errors import ModelError
from swarm.models.base import Reply
from swarm.models.faults import Fault
from swarm.models.settings import ModelSettings, Price
from swarm.models.transport import Answer, Request, Transport, unusable
from swarm.prompt import Prompt

_FIRST_REFUSED = 5  # calls; a model that refuses all of them was set up wrongly


class LiveModel:
    """A live model behind the gateway (see `swarm.models.base.Model`).

    Parameters
    ----------
    call : callable
        The gateway's; makes one call of this model.
    name : str
        The study's name for it.
    schema : dict or None
        JSON schema of a reply, sent where the model takes one.
    """

    surrogate = False

    def __init__(
        self,
        call: Callable[[LiveModel, Prompt, int], Awaitable[Reply]],
        name: str,
        settings: ModelSettings,
        price: Price | None,
        transport: Transport,
        schema: dict[str, Any] | None,
    ) -> None:
        self.name = name
        self.settings = settings
        self.price = price
        self.transport = transport
        self.answered = 0
        self._call = call
        self._refused = 0
        self._tokens_per_character = 1 / 3
        self._requests = _bucket(settings.requests_per_minute)
        self._tokens = _bucket(settings.tokens_per_minute)
        self._fixed = _fixed_parameters(settings, schema)
        self._seeded = _seeded(settings)

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        """One reply; see `swarm.models.gateway`.

        Raises
        ------
        ModelError
            When the study has to stop: no access, no money, no such model, provider down.
        """
        return await self._call(self, prompt, seed)

    def parameters(self, seed: int) -> dict[str, Any]:
        """The parameters as they are sent."""
        return {**self._fixed, "seed": seed} if self._seeded else self._fixed

    def worst_case(self, request: Request) -> float:
        """US dollars that a call may cost at most: all its input uncached, all output used."""
        if self.price is None:
            return 0.0
        given = self._input_tokens(request)
        return (given * self.price.input + self.settings.max_tokens * self.price.output) / 1e6

    def _input_tokens(self, request: Request) -> float:
        """Tokens of the prompt, from its length; a tenth is added for the provider's own."""
        text = len(request.system) + len(request.turn)
        strange = 0 if request.system.isascii() and request.turn.isascii() else text
        return 1.1 * (text * self._tokens_per_character + strange) + 20

    async def within_limits(self, request: Request) -> None:
        """Wait for the limits that the study states."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None:
            tokens = self._input_tokens(request) + self.settings.max_tokens
            await self._tokens.acquire(min(tokens, self._tokens.max_rate))

    def reply_of(self, answer: Answer, request: Request, seconds: float) -> Reply:
        """The answer as a reply, with its cost."""
        if answer.tokens_in is not None:
            text = max(1, len(request.system) + len(request.turn))
            seen = answer.tokens_in / text
            self._tokens_per_character = max(self._tokens_per_character, seen)
        return Reply(
            text=answer.text,
            reasoning=answer.reasoning,
            tokens_in=answer.tokens_in,
            tokens_cached=answer.tokens_cached,
            tokens_out=answer.tokens_out,
            tokens_reasoning=answer.tokens_reasoning,
            cost=self._cost(answer, request),
            latency=seconds,
            served_by=answer.served_by,
            fingerprint=answer.fingerprint,
            failed=unusable(answer.finish),
        )

    def _cost(self, answer: Answer, request: Request) -> float | None:
        if self.price is None:
            return None
        if answer.tokens_in is None or answer.tokens_out is None:
            return self.worst_case(request)  # nobody counted: the most it can have been
        cached = min(answer.tokens_cached or 0, answer.tokens_in)
        cheap = self.price.input if self.price.cached is None else self.price.cached
        fresh = answer.tokens_in - cached
        return (
            fresh * self.price.input + cached * cheap + answer.tokens_out * self.price.output
        ) / 1e6

    def stopped(self, fault: Fault) -> ModelError:
        """What the study ends with after a fault that every further call would meet."""
        key = self.settings.key_env or "the provider's own variable"
        mend = {
            Fault.NO_ACCESS: f"the key (in {key}) is refused; set a valid one",
            Fault.NO_MONEY: "the account's quota is used up; top it up",
            Fault.NOT_FOUND: f"the provider knows no model {self.settings.model!r}; mend its name",
        }[fault]
        return ModelError(f"{self.name}: {mend} and repeat the command, it goes on from there")

    def refused_at_first(self, fault: Fault) -> None:
        """Stop when a model refused its first calls, one and all.

        Raises
        ------
        ModelError
        """
        self._refused += 1
        if self.answered == 0 and self._refused >= _FIRST_REFUSED:
            raise ModelError(
                f"{self.name}: the provider {fault} the first {self._refused} calls; check the "
                f"model's name and parameters with `python -m swarm models check`"
            )


def check_model(name: str, settings: ModelSettings, *, surrogates: tuple[str, ...] = ()) -> None:
    """See that a model can be called at all; `surrogates` are named as what else there is.

    Raises
    ------
    ModelError
        When litellm knows no such provider, or the variable for the key is empty.
    """
    if settings.path == "litellm":
        from swarm.models.litellm_path import provider_of

        if provider_of(settings.model) is None:
            raise ModelError(
                f"unknown model {name!r}: surrogates are {', '.join(surrogates) or 'none'}; a live "
                "model is named as litellm names it, provider first: openai/NAME, anthropic/NAME"
            )
    if settings.key_env and not os.environ.get(settings.key_env):
        raise ModelError(
            f"{name}: the environment variable {settings.key_env} is empty; put the key there"
        )


def transport_of(settings: ModelSettings) -> Transport:
    if settings.path == "direct":
        from swarm.models.direct import Direct

        return Direct(settings)
    from swarm.models.litellm_path import LiteLLM

    return LiteLLM(settings)


def _bucket(per_minute: int | None) -> AsyncLimiter | None:
    """A limiter without bursts beyond a second's worth."""
    if per_minute is None:
        return None
    return AsyncLimiter(max(1.0, per_minute / 60), max(1.0, per_minute / 60) * 60 / per_minute)


def _fixed_parameters(settings: ModelSettings, schema: dict[str, Any] | None) -> dict[str, Any]:
    """What is sent with every call of a model, the seed aside."""
    sent = dict(settings.parameters)
    if not {"max_tokens", "max_completion_tokens"} & sent.keys():
        sent["max_tokens"] = settings.max_tokens
    if schema is not None and _constrained(settings):
        sent["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "turn", "schema": schema, "strict": True},
        }
    return sent


def _constrained(settings: ModelSettings) -> bool:
    if settings.reply_schema != "auto":
        return settings.reply_schema == "on"
    if settings.path == "direct":
        return True
    from swarm.models.litellm_path import takes_schema

    return takes_schema(settings.model)


def _seeded(settings: ModelSettings) -> bool:
    if settings.seed != "auto":
        return settings.seed == "on"
    if settings.path == "direct":
        return True
    from swarm.models.litellm_path import takes

    return takes(settings.model, "seed")
