"""Reply sources: everything that stands behind `swarm.models.base.Model`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swarm.models.base import Model
    from swarm.scenario import Scenario
    from swarm.study import Study


def models_for(
    scenario: Scenario, names: Iterable[str], *, live: Mapping[str, Model] | None = None
) -> dict[str, Model]:
    """A model for each name: the one in `live`, else the scenario's surrogate of that name.

    Raises
    ------
    KeyError
        When a name is neither.
    """
    live = live or {}
    return {name: live[name] if name in live else scenario.surrogate(name) for name in names}


def check_models(study: Study) -> None:
    """See that every live model of `study` can be called: known, and its key there.

    Raises
    ------
    ModelError
        One line that names the model and the mend.
    """
    live = study.live_models
    if live:
        from swarm.models.live import check_model

        for name, settings in live.items():
            check_model(name, settings, surrogates=study.game.surrogates())
