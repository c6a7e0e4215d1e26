"""A world: which services fail, why, and the list of changes that hides the reason.

Each outage has an alerting service, a root service, and three changes on the list: the cause and
its twin (both config changes of the root, one or two minutes apart, both before the alert) and a
decoy (a deploy of the alerting service's web front end, exactly two minutes before the alert).
Which of cause and twin is which is a fair coin that nothing on the list depends on: the pair's
times, the ids and the order are drawn without looking at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from scenarios.outage.changes import Change
from swarm.streams import stream

if TYPE_CHECKING:
    from random import Random

    from scenarios.outage.settings import OutageSettings

CONFIG = "config change"
DEPLOY = "web front end deploy"
_FILLER_KINDS = (CONFIG, DEPLOY, "schema migration", "replica restart")
_NOON = 14 * 60


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage with its truth; `cause`, `twin` and `decoy` are change ids, `since` is HH:MM."""

    alerting: str
    root: str
    cause: str
    twin: str
    decoy: str
    since: str


@dataclass(frozen=True, slots=True)
class World:
    """Everything about a store that is the same in all rooms of a world."""

    outages: tuple[Outage, ...]
    changes: tuple[Change, ...]


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


@lru_cache(maxsize=256)
def make_world(settings: OutageSettings, seed: int) -> World:
    """The world that `seed` gives under `settings`; pure."""
    rng = stream(seed, "world")
    picked = rng.sample(settings.services, 2 * settings.outages)
    involved = set(picked)
    width = 3 if settings.changes <= 300 else 4
    numbers = rng.sample(range(10 ** (width - 1), 10**width), settings.changes)
    ids = iter([f"D-{n}" for n in numbers])
    outages: list[Outage] = []
    changes: list[Change] = []
    for alerting, root in zip(picked[::2], picked[1::2], strict=True):
        alert = _NOON + rng.randint(0, 9)
        later = alert - rng.randint(1, 4)
        pair = [
            Change(next(ids), root, CONFIG, _clock(later - rng.randint(1, 2))),
            Change(next(ids), root, CONFIG, _clock(later)),
        ]
        decoy = Change(next(ids), alerting, DEPLOY, _clock(alert - 2))
        cause = rng.randrange(2)
        outages.append(
            Outage(alerting, root, pair[cause].id, pair[1 - cause].id, decoy.id, _clock(alert))
        )
        changes += [*pair, decoy]
    changes += _fillers(settings, involved, set(picked[1::2]), ids, rng)
    rng.shuffle(changes)
    return World(tuple(outages), tuple(changes))


def _fillers(
    settings: OutageSettings, involved: set[str], roots: set[str], ids: object, rng: Random
) -> list[Change]:
    """Changes that caused nothing, on uninvolved services first; never a third one on a root."""
    quiet = [s for s in settings.services if s not in involved]
    others = [s for s in settings.services if s not in roots]
    made = []
    for k in range(settings.changes - 3 * settings.outages):
        service = quiet[k] if k < len(quiet) else rng.choice(others)
        made.append(
            Change(
                next(ids),  # type: ignore[call-overload]
                service,
                rng.choice(_FILLER_KINDS),
                _clock(_NOON + rng.randint(-8, 9)),
            )
        )
    return made
