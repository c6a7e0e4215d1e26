"""The counts of a study: what `attribute --json` prints and the report's first table shows."""

from __future__ import annotations

from typing import Any

from swarm.errors import UsageError
from swarm.log.store import Log

SURROGATE_NOTE = (
    "surrogate agents: scripted players that imitate published aggregate behaviour; "
    "no evidence about any LLM"
)


def shown_model(log: Log, model: str) -> str:
    """A model's name as every table shows it; surrogates are marked."""
    return f"{model} (surrogate)" if model in surrogates_of(log) else model


def surrogates_of(log: Log) -> tuple[str, ...]:
    """Names of the log's models that are surrogate agents."""
    return tuple(log.value("SELECT surrogates FROM studies"))


def summary(log: Log, *, tagger: str, schedule: str) -> dict[str, Any]:
    """Counts over all finished rooms.

    Returns
    -------
    dict
        rooms, plan_rooms (with a plan), multi_plan_rooms (with plans by two or more agents),
        leaders, mirror_leaders, leaders_round1, leaders_later, leaders_by_model, followers (of
        leaders), followed (directives), positive_weights and negative_weights (A > B, A < B),
        mean_a, mean_b (None without followed directives), duplicates_per_room, solved_rooms (every
        outage fixed), and for surrogate runs agents (the words that mark them).

    Raises
    ------
    UsageError
        When the log holds no finished room.
    """
    key = [tagger, schedule]
    rooms, duplicates, solved = log.rows(
        "SELECT count(*), avg(duplicates), count(*) FILTER (reason = 'fixed') FROM outcomes"
    )[0]
    if not rooms:
        raise UsageError(f"{log.path} holds no finished room; `python -m swarm run` plays them")
    planners = log.rows(
        "SELECT count(*), count(*) FILTER (n >= 2) FROM "
        "(SELECT count(DISTINCT seat) AS n FROM plans WHERE tagger = ? GROUP BY room)",
        [tagger],
    )[0]
    followed, positive, negative, mean_a, mean_b = log.rows(
        "SELECT count(*), count(*) FILTER (a > b), count(*) FILTER (a < b), avg(a), avg(b) "
        "FROM influences WHERE tagger = ? AND schedule = ?",
        key,
    )[0]
    leaders, round1, followers = log.rows(
        "SELECT count(*), count(*) FILTER (round1), coalesce(sum(followers), 0)::INTEGER "
        "FROM leaders WHERE tagger = ? AND schedule = ? AND rule = 'published'",
        key,
    )[0]
    mirror = log.value(
        "SELECT count(*) FROM leaders WHERE tagger = ? AND schedule = ? AND rule = 'mirror'", key
    )
    by_model = dict(
        log.rows(
            "SELECT s.model, count(*) FROM leaders l JOIN seats s USING (room, seat) "
            "WHERE tagger = ? AND schedule = ? AND rule = 'published' GROUP BY ALL",
            key,
        )
    )
    counts: dict[str, Any] = {
        "rooms": rooms,
        "plan_rooms": planners[0],
        "multi_plan_rooms": planners[1],
        "leaders": leaders,
        "mirror_leaders": mirror,
        "leaders_round1": round1,
        "leaders_later": leaders - round1,
        "leaders_by_model": {
            shown_model(log, model): by_model.get(model, 0) for model in log.study.all_models
        },
        "followers": followers,
        "followed": followed,
        "positive_weights": positive,
        "negative_weights": negative,
        "mean_a": mean_a,
        "mean_b": mean_b,
        "duplicates_per_room": duplicates,
        "solved_rooms": solved,
    }
    if surrogates_of(log):
        counts["agents"] = SURROGATE_NOTE
    return counts
