"""Reply sources: everything that stands behind `swarm.models.base.Model`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from swarm.errors import ModelError

if TYPE_CHECKING:
    from swarm.models.base import Model
    from swarm.scenario import Scenario


def models_for(scenario: Scenario, names: Iterable[str]) -> dict[str, Model]:
    """A model for each name: the scenario's surrogate of that name, else litellm's model.

    A real model whose name is also a surrogate's is meant by its full litellm name, with the
    provider before it (``anthropic/claude-...``).

    Raises
    ------
    ModelError
        When a name is neither.
    """
    surrogates = scenario.surrogates()
    made: dict[str, Model] = {}
    for name in names:
        if name in surrogates:
            made[name] = scenario.surrogate(name)
        else:
            made[name] = _litellm_model(name, surrogates)
    return made


def _litellm_model(name: str, surrogates: tuple[str, ...]) -> Model:
    from swarm.models.gateway import LiteLLMModel, provider_of

    if provider_of(name) is None:
        raise ModelError(
            f"unknown model {name!r}: surrogates are {', '.join(surrogates)}; a live model "
            "is named as litellm names it, with its provider: openai/NAME, anthropic/NAME"
        )
    return LiteLLMModel(name)
