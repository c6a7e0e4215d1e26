"""How good a tagger is on labelled posts.

Precision and recall count directives, exact match counts posts. Directives of one post stand and
fall together, so intervals resample posts.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classifiers.directives import Change, Directive, PostInRoom, Tagged, Tagger
from scenarios.outage.settings import OutageSettings
from swarm.errors import UsageError

RESAMPLES = 2_000
_CHANGE_ID = re.compile(r"\b[A-Z]{1,3}-\d{2,4}\b")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A post and the directives that a reader found in it."""

    post: PostInRoom
    directives: frozenset[Directive]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A tagger's figures.

    Attributes
    ----------
    posts, directives : int
        In the labels.
    precision, recall, exact_match : float
        nan where there is nothing to divide by.
    precision_ci, recall_ci : (float, float)
        95 % percentile bootstrap over posts.
    filings : dict
        directives, precision and recall of filings alone.
    calibration : dict or None
        candidates, brier and ece of everything the tagger gave a probability, counted or not; see
        `calibration_of`. None for a tagger that gives none.
    posts_per_second : float
        Of the tagger, loading aside.
    errors : list of dict
        post, author, missed and false directives, of every post not tagged exactly.
    """

    posts: int
    directives: int
    precision: float
    recall: float
    exact_match: float
    precision_ci: tuple[float, float]
    recall_ci: tuple[float, float]
    filings: dict[str, float]
    calibration: dict[str, float] | None
    posts_per_second: float
    errors: list[dict[str, Any]]


def evaluate(tagger: Tagger, labelled: Sequence[Labelled], *, random_state: int = 0) -> Evaluation:
    """Tag the posts of `labelled` and compare.

    Parameters
    ----------
    random_state : int
        Seed of the bootstrap.
    """
    start = time.perf_counter()
    read = tagger.read([item.post for item in labelled])
    seconds = time.perf_counter() - start
    tagged = [tagged.directives for tagged in read]
    counts = np.zeros((len(labelled), 3))  # both, false, missed
    filed = np.zeros(3)
    errors = []
    for number, (item, found) in enumerate(zip(labelled, tagged, strict=True)):
        want, have = item.directives, frozenset(found)
        counts[number] = len(want & have), len(have - want), len(want - have)
        for column, some in enumerate((want & have, have - want, want - have)):
            filed[column] += sum(d.kind == "file" for d in some)
        if want != have:
            errors.append(
                {
                    "post": item.post.post,
                    "author": item.post.author,
                    "missed": _listed(want - have),
                    "false": _listed(have - want),
                }
            )
    total = counts.sum(axis=0, keepdims=True)
    spread = _resampled(counts, random_state)
    precision, recall = _precision(total)[0], _recall(total)[0]
    return Evaluation(
        posts=len(labelled),
        directives=int(total[0, 0] + total[0, 2]),
        precision=float(precision),
        recall=float(recall),
        exact_match=1 - len(errors) / len(labelled),
        precision_ci=_interval(_precision(spread)),
        recall_ci=_interval(_recall(spread)),
        filings={
            "directives": float(filed[0] + filed[2]),
            "precision": float(_precision(filed[None, :])[0]),
            "recall": float(_recall(filed[None, :])[0]),
        },
        calibration=_calibration(labelled, read),
        posts_per_second=len(labelled) / seconds,
        errors=errors,
    )


def calibration_of(
    probabilities: Sequence[float], true: Sequence[bool], *, bins: int = 10
) -> dict[str, float]:
    """How far probabilities can be taken at their word.

    Returns
    -------
    dict
        candidates: how many; brier: mean squared difference to the truth (Brier 1950); ece:
        expected calibration error, the mean distance between a bin's mean probability and its share
        of true ones, over bins of equal width weighted by size (Naeini et al. 2015).

    Examples
    --------
    >>> calibration_of([0.75, 0.75, 0.75, 0.75], [True, True, True, False])["ece"]
    0.0
    """
    p, y = np.asarray(probabilities, dtype=float), np.asarray(true, dtype=float)
    if not len(p):
        return {"candidates": 0.0, "brier": float("nan"), "ece": float("nan")}
    which = np.minimum((p * bins).astype(int), bins - 1)
    off = np.bincount(which, weights=p - y, minlength=bins)
    return {
        "candidates": float(len(p)),
        "brier": float(np.mean((p - y) ** 2)),
        "ece": float(np.abs(off).sum() / len(p)),
    }


def _calibration(labelled: Sequence[Labelled], read: Sequence[Tagged]) -> dict[str, float] | None:
    sure = [
        (probability, directive in item.directives)
        for item, tagged in zip(labelled, read, strict=True)
        for directive, probability in (
            *zip(tagged.directives, tagged.probabilities, strict=True),
            *tagged.doubts,
        )
        if probability is not None
    ]
    return calibration_of([p for p, _ in sure], [y for _, y in sure]) if sure else None


def _resampled(counts: NDArray[np.float64], random_state: int) -> NDArray[np.float64]:
    """Totals of (both, false, missed) over posts drawn with replacement; (RESAMPLES, 3)."""
    rng = np.random.default_rng(random_state)
    posts = len(counts)
    chunk = max(1, 4_000_000 // posts)
    parts = []
    for done in range(0, RESAMPLES, chunk):
        size = min(chunk, RESAMPLES - done)
        weights = rng.multinomial(posts, np.full(posts, 1 / posts), size=size)
        parts.append(weights @ counts)
    return np.concatenate(parts)


def _precision(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return _share(totals[:, 0], totals[:, 0] + totals[:, 1])


def _recall(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return _share(totals[:, 0], totals[:, 0] + totals[:, 2])


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: NDArray[np.float64] = part / whole
    return shares


def _interval(spread: NDArray[np.float64]) -> tuple[float, float]:
    finite = spread[np.isfinite(spread)]
    if not finite.size:
        return float("nan"), float("nan")
    low, high = np.quantile(finite, [0.025, 0.975])
    return float(low), float(high)


def _listed(directives: frozenset[Directive]) -> list[list[str]]:
    return [[d.teammate, d.kind, d.target] for d in sorted(directives)]


def read_labelled(
    path: Path, *, rooms: Path | None = None, split: str | None = None
) -> list[Labelled]:
    """Read a file of labelled posts, one JSON object a line.

    Parameters
    ----------
    path : Path
        Fields post, author, directives ([[teammate, "query" or "file", target], ...]); optional
        round and room.
    rooms : Path, optional
        A file with names, services and changes of each room. Without it, and for posts without a
        room, names and services are the outage room's, and change ids are read from the post.
    split : str, optional
        Only lines whose split this is.

    Raises
    ------
    UsageError
        When a file cannot be read, or a line of it is no labelled post; it names the line.
    """
    frames = {line["room"]: line for _, line in _lines(rooms)} if rooms else {}
    found = []
    for number, line in _lines(path):
        if split is not None and line.get("split") != split:
            continue
        try:
            found.append(_labelled(line, frames.get(line.get("room"))))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{path}, line {number}: no labelled post ({error!r}); a line has post, author and "
                'directives, [[teammate, "query" or "file", target], ...]'
            ) from error
    if not found:
        raise UsageError(f"{path} holds no labelled post")
    return found


def _lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except ValueError as error:
                raise UsageError(f"{path}, line {number} is not JSON: {error}") from error
            if not isinstance(value, dict):
                raise UsageError(f"{path}, line {number} is no JSON object")
            found.append((number, value))
    return found


def _labelled(line: dict[str, Any], frame: dict[str, Any] | None) -> Labelled:
    post, author = line["post"], line["author"]
    if not isinstance(post, str) or not isinstance(author, str):
        raise ValueError("post and author must be texts")
    default = OutageSettings()
    names = tuple(frame["names"]) if frame else default.names
    services = tuple(frame["services"]) if frame else default.services
    if frame:
        changes = tuple(Change(*change) for change in frame["changes"])
    else:
        ids = [*_CHANGE_ID.findall(post), *(d[2] for d in line["directives"] if d[1] == "file")]
        changes = tuple(Change(change, "", "", "") for change in dict.fromkeys(ids))
    wanted = []
    for teammate, kind, target in line["directives"]:
        if kind not in ("query", "file"):
            raise ValueError(f"{kind!r} is neither query nor file")
        wanted.append(Directive(teammate, kind, target))
    teammates = tuple(name for name in names if name != author)
    asked = PostInRoom(int(line.get("round", 1)), author, teammates, services, changes, post)
    return Labelled(asked, frozenset(wanted))
