"""What a study says about a live model: a ``[models.NAME]`` table.

Only what decides its replies (name, parameters, schema, seed) belongs to the study's identity.
Limits, addresses, prices and the name of the variable that holds the key may change between runs
of one study. The key itself is never here.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Switch = Literal["auto", "on", "off"]

_OURS = frozenset({"model", "messages", "seed", "response_format", "stream", "n", "api_key"})


class Price(BaseModel):
    """US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0, description="prompt tokens")
    output: float = Field(ge=0, description="completion tokens, reasoning included")
    cached: float | None = Field(None, ge=0, description="prompt tokens read from a cache")


class ModelSettings(BaseModel):
    """A live model: how it is called, within which limits, at which price."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    model: str = Field(min_length=1, description="litellm's name, provider first: openai/NAME")
    path: Literal["litellm", "direct"] = Field(
        "litellm", description="direct: straight to an OpenAI-compatible api_base"
    )
    api_base: str | None = Field(None, description="address of the endpoint, up to /v1")
    key_env: str | None = Field(None, description="environment variable that holds the key")
    parameters: dict[str, Any] = Field({}, description="sent as they are: temperature, ...")
    reply_schema: Switch = Field("auto", alias="schema", description="constrain replies to JSON")
    seed: Switch = Field("auto", description="send a seed")
    concurrency: int = Field(64, ge=1, le=10_000, description="most calls in flight")
    requests_per_minute: int | None = Field(None, ge=1, description="known limit")
    tokens_per_minute: int | None = Field(None, ge=1, description="known limit")
    timeout: float = Field(180.0, gt=0, le=6000, description="seconds of one call, hard")
    attempts: int = Field(8, ge=1, le=100, description="tries of one call")
    price: Price | None = Field(None, description="overrides litellm's price map")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.path == "direct" and not self.api_base:
            raise ValueError("path = 'direct' needs an api_base, such as http://127.0.0.1:8000/v1")
        if self.api_base is not None and not self.api_base.startswith(("http://", "https://")):
            raise ValueError(f"api_base {self.api_base!r} must begin with http:// or https://")
        taken = _OURS & self.parameters.keys()
        if taken:
            raise ValueError(f"parameters may not set {sorted(taken)[0]!r}; swarm sets it itself")
        return self

    @property
    def max_tokens(self) -> int:
        """Most completion tokens of a reply; it bounds what a call can cost."""
        for name in ("max_completion_tokens", "max_tokens"):
            if name in self.parameters:
                return int(self.parameters[name])
        return DEFAULT_MAX_TOKENS

    def identity(self) -> dict[str, Any]:
        """What decides the model's replies."""
        return self.model_dump(include={"model", "parameters", "reply_schema", "seed"})


DEFAULT_MAX_TOKENS = 2048
"""Sent when a study sets none: room for the reply and for some reasoning before it."""
