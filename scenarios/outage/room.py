"""The outage room as a scenario: what the engine asks of it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from pydantic import BaseModel

from scenarios.outage.settings import OutageSettings
from swarm.design import RoomSpec
from swarm.models.base import Model
from swarm.room import Desk
from swarm.scenario import Rows


class OutageRoom:
    """The game as a scenario (see `swarm.scenario.Scenario`)."""

    name = "outage"
    settings: type[BaseModel] = OutageSettings

    def names(self, settings: OutageSettings) -> tuple[str, ...]:
        """The agents' names, in seat order."""
        return settings.names

    def surrogates(self) -> tuple[str, ...]:
        """The four profiles, named after the models whose published behaviour they imitate."""
        from scenarios.outage.profiles import PROFILES

        return tuple(PROFILES)

    def surrogate(self, name: str) -> Model:
        """The surrogate of that profile."""
        from scenarios.outage.profiles import PROFILES
        from scenarios.outage.surrogate import Surrogate

        return Surrogate(name, PROFILES[name])

    def world_rows(self, settings: OutageSettings, world: int, seed: int) -> Rows:
        """The world's outages and changes."""
        from scenarios.outage.world import make_world

        made = make_world(settings, seed)
        return {
            "outages": [
                (world, i, o.alerting, o.root, o.cause, o.twin, o.decoy, o.since)
                for i, o in enumerate(made.outages)
            ],
            "changes": [
                (world, i, c.id, c.service, c.kind, c.time) for i, c in enumerate(made.changes)
            ],
        }

    def reply_schema(self, settings: OutageSettings) -> dict[str, Any]:
        """Four texts; whether they are legal is the rules' matter, not the schema's."""
        from scenarios.outage.rules import FIELDS

        return {
            "type": "object",
            "properties": {field: {"type": "string"} for field in FIELDS},
            "required": list(FIELDS),
            "additionalProperties": False,
        }

    def decided(
        self, settings: OutageSettings, fields: dict[str, Any]
    ) -> tuple[str | None, str | None]:
        """The service queried and the change filed by a reply's fields."""
        from scenarios.outage.rules import decided

        return decided(settings, fields)

    def program(self, spec: RoomSpec, desk: Desk) -> Generator[Any, Any, None]:
        """The rules, as a process."""
        from scenarios.outage.rules import play

        return play(spec, desk)
