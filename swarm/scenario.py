"""What a scenario is to the engine, and where scenarios are found.

A scenario is a game: its settings, the seats at its table, the surrogates that can sit there, and
a program, written as a SimPy process, that asks seats for replies and applies the rules. Packages
add their own through the entry point group ``swarm.scenarios``.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from swarm.errors import StudyError

if TYPE_CHECKING:
    from swarm.design import RoomSpec
    from swarm.models.base import Model
    from swarm.room import Desk

Rows = dict[str, list[tuple[Any, ...]]]
"""Rows for the log by table, each in the column order of `swarm/log/schema.sql`."""


class Scenario(Protocol):
    """A game that rooms can play."""

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> type[BaseModel]:
        """The pydantic model of the study's ``[room]`` table."""
        ...

    def names(self, settings: Any) -> tuple[str, ...]:
        """The agents' names, one a seat, in seat order."""
        ...

    def surrogates(self) -> tuple[str, ...]:
        """Names of the surrogate agents that can play this game."""
        ...

    def surrogate(self, name: str) -> Model:
        """The surrogate called `name`; raises KeyError for any other name."""
        ...

    def world_rows(self, settings: Any, world: int, seed: int) -> Rows:
        """What the log keeps of a world: its facts and its truth."""
        ...

    def reply_schema(self, settings: Any) -> dict[str, Any]:
        """JSON schema of a reply, for models that can be held to one."""
        ...

    def decided(self, settings: Any, fields: dict[str, Any]) -> tuple[str | None, str | None]:
        """What a reply's fields decide: the service queried and the change filed, None for none."""
        ...

    def program(self, spec: RoomSpec, desk: Desk) -> Generator[Any, Any, None]:
        """The SimPy process that plays the room `spec` at `desk`."""
        ...


@cache
def _registered() -> Mapping[str, Any]:
    return {point.name: point for point in entry_points(group="swarm.scenarios")}


@cache
def scenario_named(name: str) -> Scenario:
    """The scenario registered as `name`.

    Raises
    ------
    StudyError
        When no installed package registers it.
    """
    known = _registered()
    if name not in known:
        raise StudyError(f"unknown scenario {name!r}; installed: {', '.join(sorted(known))}")
    found: Scenario = known[name].load()()
    return found
