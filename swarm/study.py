"""A study says what to run: how many rooms, of which game, with whom, in which design.

Studies are TOML files with a handful of keys and a ``[room]`` table of the scenario's settings;
every key has a default, unknown keys are errors. Two runs of equal studies have equal rooms.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from swarm.design import NameOrder, RoomSpec, rooms_of
from swarm.errors import StudyError
from swarm.models.settings import ModelSettings
from swarm.scenario import Scenario, scenario_named


class Study(BaseModel):
    """What to run.

    Examples
    --------
    >>> study = Study(rooms=16, seed=3)
    >>> [spec.room for spec in study.specs()][:2]
    ['w000_r0', 'w000_r1']
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: str = Field("outage", description="registered name of the game")
    rooms: int = Field(2160, strict=True, ge=1, le=10_000_000, description="how many rooms to play")
    seed: int = Field(1, strict=True, ge=0, lt=2**31, description="root of all random streams")
    name_order: NameOrder = Field("forward", description="how the system prompt lists the names")
    lineup: tuple[str, ...] = Field(
        (), description="models that share the seats; default: those of [models], or surrogates"
    )
    models: dict[str, ModelSettings] = Field({}, description="live models by our name for them")
    seats: dict[str, str] = Field({}, description="name to model, for seats that keep one model")
    retries: int = Field(1, ge=0, le=10, description="new tries for a reply that cannot be read")
    room: dict[str, Any] = Field({}, description="settings of the scenario")

    @model_validator(mode="before")
    @classmethod
    def _list_of_models(cls, values: Any) -> Any:
        """``models = [...]`` is short for ``lineup = [...]``."""
        if isinstance(values, dict) and isinstance(values.get("models"), list | tuple):
            values = {**values, "lineup": values["models"]}
            del values["models"]
        return values

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        scenario = scenario_named(self.scenario)
        try:
            settings = self.room_settings
        except ValidationError as error:
            raise StudyError(_first_fault(error, scenario.settings, "room")) from error
        names = scenario.names(settings)
        models = self.shared
        if len(names) % len(models):
            raise StudyError(
                f"{len(names)} agents cannot be shared evenly by {len(models)} models; give a "
                f"number of models that divides {len(names)}"
            )
        if self.name_order == "williams" and len(names) % 2:
            raise StudyError(
                f"name_order 'williams' needs an even number of agents, not {len(names)}"
            )
        for name in self.seats:
            if name not in names:
                raise StudyError(f"seats: no agent is called {name!r}; names: {', '.join(names)}")
        if any(not model.strip() for model in (*models, *self.seats.values())):
            raise StudyError("a model's name is empty; give one, or leave the model out")
        return self

    @property
    def game(self) -> Scenario:
        """The scenario."""
        return scenario_named(self.scenario)

    @property
    def room_settings(self) -> BaseModel:
        """The scenario's settings, validated."""
        return self.game.settings.model_validate(self.room)

    @property
    def all_models(self) -> tuple[str, ...]:
        """Every model that sits somewhere in this study, once, in order of mention."""
        return tuple(dict.fromkeys((*self.shared, *self.seats.values())))

    @property
    def shared(self) -> tuple[str, ...]:
        """The models that share the seats."""
        return self.lineup or tuple(self.models) or self.game.surrogates()

    @property
    def live_models(self) -> dict[str, ModelSettings]:
        """Settings of every model in this study that is no surrogate."""
        surrogates = set(self.game.surrogates()) - self.models.keys()
        return {
            name: self.models.get(name) or ModelSettings(model=name)
            for name in self.all_models
            if name not in surrogates
        }

    def specs(self) -> Iterator[RoomSpec]:
        """The study's rooms, world after world."""
        game, settings = self.game, self.room_settings
        return rooms_of(
            rooms=self.rooms,
            seed=self.seed,
            names=game.names(settings),
            models=self.shared,
            held=self.seats,
            order=self.name_order,
            settings=settings,
            retries=self.retries,
        )

    def as_json(self) -> str:
        """The study as canonical JSON, with defaults filled in."""
        whole = self.model_dump(by_alias=True) | {
            "lineup": self.shared,
            "room": self.room_settings.model_dump(mode="json"),
        }
        return json.dumps(whole, sort_keys=True, ensure_ascii=False)

    def identity(self) -> dict[str, Any]:
        """What decides the rooms and replies, flat: two studies with the same are the same.

        Addresses, limits and prices of models are not in it; they may change between runs.
        """
        whole: dict[str, Any] = json.loads(self.as_json())
        flat = {f"room.{key}": value for key, value in whole.pop("room").items()}
        for name in whole.pop("models"):
            for key, value in self.models[name].identity().items():
                flat[f"models.{name}.{key}"] = value
        return flat | whole


def load_study(path: Path | None, overrides: dict[str, Any]) -> Study:
    """Read a study file and put `overrides` (those that are not None) over it.

    Parameters
    ----------
    path : Path or None
        A TOML file; None starts from the defaults.
    overrides : dict
        Study keys; a dict given for ``room`` or ``seats`` is merged into the file's table.

    Raises
    ------
    StudyError
        One line that names the file, the key and the mend.
    """
    values: dict[str, Any] = {}
    if path is not None:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise StudyError(f"cannot read study {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:  # TOML and UTF-8 faults are ValueErrors
            raise StudyError(f"study {path} is not TOML: {error}") from error
    for key, value in overrides.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            values[key] = {**values[key], **value}
        elif value is not None and value != {}:
            values[key] = value
    return make_study(values, source=f"study {path}" if path else "study")


def make_study(values: dict[str, Any], *, source: str = "study") -> Study:
    """A study from plain values; faults become one line that begins with `source`."""
    try:
        return Study.model_validate(values)
    except ValidationError as error:
        raise StudyError(f"{source}: {_first_fault(error, Study)}") from error
    except StudyError as error:
        raise StudyError(f"{source}: {error}") from error


def _first_fault(error: ValidationError, model: type[BaseModel], table: str = "") -> str:
    """The first fault of `error` in a line; `table` is the TOML table that `model` stands for."""
    fault = error.errors()[0]
    where = ".".join([table] * bool(table) + [str(part) for part in fault["loc"]])
    if fault["type"] == "extra_forbidden":
        known = list(model.model_fields)
        near = difflib.get_close_matches(str(fault["loc"][-1]), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        return f"unknown key {where!r}; {hint}"
    message = fault["msg"].removeprefix("Value error, ")
    if not fault["loc"]:
        return f"{where}: {message}" if where else message
    shown = repr(fault["input"])
    return f"{where} = {shown if len(shown) < 60 else shown[:57] + '...'}: {message}"
