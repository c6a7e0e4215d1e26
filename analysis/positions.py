"""Does the place of a name in the prompt's list decide who plans?

Planning is a round-1 matter, since nobody has read anybody yet. The estimate is the risk ratio of
the first place against the mean of the others, with a percentile bootstrap over worlds: the rooms
of a world share their outages, so worlds are the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swarm.log.store import Log

RESAMPLES = 10_000
_CHUNK = 500  # resamples at a time, which bounds memory for any number of worlds


@dataclass(frozen=True, slots=True)
class FirstPlace:
    """Round-1 plans of the first name against the others'.

    Attributes
    ----------
    first, others : float
        Share of agents in first place, and in the other places, that plan.
    ratio : float
        first / others; nan when nobody in the other places plans.
    low, high : float
        95 % interval of the ratio.
    """

    first: float
    others: float
    ratio: float
    low: float
    high: float


def round1_plans(log: Log, tagger: str) -> pd.DataFrame:
    """Agents and round-1 planners by world, place in the list, name and model.

    Returns
    -------
    DataFrame
        Columns world, position (0 is first), name, model, agents, plans.
    """
    return log.con.execute(
        "SELECT r.world, s.position, s.name, s.model, count(*) AS agents, "
        "count(p.seat) AS plans "
        "FROM outcomes o JOIN rooms r USING (room) JOIN seats s USING (room) "
        "LEFT JOIN plans p ON p.room = s.room AND p.seat = s.seat AND p.round = 1 "
        "AND p.tagger = ? GROUP BY ALL ORDER BY ALL",
        [tagger],
    ).df()


def first_place(plans: pd.DataFrame, *, random_state: int = 0) -> FirstPlace:
    """The risk ratio of the first place, from `round1_plans`.

    Parameters
    ----------
    random_state : int
        Seed of the bootstrap.
    """
    place = np.where(plans["position"] == 0, "first", "others")
    table = plans.groupby(["world", place])[["agents", "plans"]].sum().unstack(fill_value=0)
    counts = np.column_stack(
        [
            table["plans", "first"],
            table["agents", "first"],
            table["plans", "others"],
            table["agents", "others"],
        ]
    ).astype(float)
    worlds = len(counts)
    rng = np.random.default_rng(random_state)
    ratios = []
    for _ in range(RESAMPLES // _CHUNK):
        weights = rng.multinomial(worlds, np.full(worlds, 1 / worlds), size=_CHUNK)
        ratios.append(_ratio(weights @ counts))
    spread = np.concatenate(ratios)
    spread = spread[np.isfinite(spread)]
    low, high = np.quantile(spread, [0.025, 0.975]) if spread.size else (np.nan, np.nan)
    total = counts.sum(axis=0)
    return FirstPlace(
        first=float(total[0] / total[1]),
        others=float(total[2] / total[3]),
        ratio=float(_ratio(total[None, :])[0]),
        low=float(low),
        high=float(high),
    )


def _ratio(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Risk ratios of rows (plans first, agents first, plans others, agents others)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: NDArray[np.float64] = (totals[:, 0] / totals[:, 1]) / (totals[:, 2] / totals[:, 3])
    return ratios
