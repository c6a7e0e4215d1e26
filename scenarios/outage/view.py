"""What a surrogate knows: the two texts it was given, read line by line.

Nothing else reaches a surrogate. Lines that stay the same from turn to turn are read once and
remembered, which changes no reading, only its price.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from scenarios.outage.changes import Change
from scenarios.outage.reading import PostReading, read_post
from swarm.text import unquoted

_ME = re.compile(r"^You are (.+), on call for a small online store\.$", re.MULTILINE)
_TEAM = re.compile(r"^Team: (.+)\.$", re.MULTILINE)
_SERVICES = re.compile(r"^Services: (.+)\.$", re.MULTILINE)
_FILE_ROUND = re.compile(r"^- Filings open in round (\d+)\.", re.MULTILINE)
_QUERY_ROUND = re.compile(r"in the whole game, from round (\d+) on")
_CHANNEL = re.compile(r"one message of up to (\d+) characters to the channel #outage\.")
_ALERT = re.compile(r"^- (.+): more than 20 % of requests fail since (\d\d:\d\d)\.$", re.MULTILINE)
_CHANGE = re.compile(r"^- (\S+) (\d\d:\d\d) (.+): (.+)$", re.MULTILINE)
_STATE = re.compile(
    r"^Round (\d+) of (\d+)\. Queries: (?:you have (\d+) left|.*?)\. "
    r"Filings: .*?the team has (\d+)(?: left)?\. Still failing: (.*)\.$"
)
_EVENT = re.compile(r"^\[round (\d+)\] (.+)$")
_POST = re.compile(r'^(.+?) posts: (".*")$')
_NOTE = re.compile(r'^your note: (".*")$')
_FILED = re.compile(r"^(.+?) files (\S+) \((.+)\): (correct|wrong), .*$")
_CARD = re.compile(r"^your query of (.+?): (.*)$")
_POINTS = re.compile(r"requests fail because (.+) answers them with errors;")
_CAUSED = re.compile(r"errors began with (\S+); (\S+) changed nothing")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the system prompt says."""

    me: str
    team: tuple[str, ...]
    services: tuple[str, ...]
    query_round: int
    file_round: int
    post_length: int  # 0 without a channel


@dataclass(frozen=True, slots=True)
class SeenPost:
    """A post of the channel with what the surrogate makes of it."""

    round: int
    author: str
    reading: PostReading


@dataclass(slots=True)
class View:
    """A turn as the surrogate understands it.

    Attributes
    ----------
    points : dict
        Alerting service to root service, from my own cards.
    causes : dict
        Root service to change id, from my own cards.
    clean : set
        Services that my own cards call sound.
    filed : dict
        Change id to whether it was correct.
    failing : tuple of str
        Alerting services whose outage is open.
    """

    rules: Rules
    alerts: tuple[str, ...]
    changes: tuple[Change, ...]
    round: int = 1
    rounds: int = 1
    queries_left: int = 0
    filings_left: int = 0
    failing: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    posts: list[SeenPost] = field(default_factory=list)
    points: dict[str, str] = field(default_factory=dict)
    causes: dict[str, str] = field(default_factory=dict)
    clean: set[str] = field(default_factory=set)
    filed: dict[str, bool] = field(default_factory=dict)


def read_prompt(system: str, turn: str) -> View:
    """Read the two texts of a turn.

    Raises
    ------
    ValueError
        When they are not the outage room's.
    """
    rules = _rules(system)
    head, _, rest = turn.partition("\n\nSo far, oldest first:\n")
    history, _, now = rest.rpartition("\nNow:\n")
    alerts, changes = _head(head)
    view = View(rules, alerts, changes)
    state = _STATE.match(now)
    if state is None:
        raise ValueError("the turn prompt does not end in the state of an outage room")
    view.round, view.rounds = int(state[1]), int(state[2])
    view.queries_left, view.filings_left = int(state[3] or 0), int(state[4])
    view.failing = tuple(state[5].split(", ")) if state[5] else ()
    for line in history.split("\n"):
        event = _event(line)
        if event is None:
            continue
        kind, round, a, b = event
        if kind == "post":
            view.posts.append(SeenPost(round, a, read_post(b, a, rules.team, rules.services)))
        elif kind == "note":
            view.notes.append(b)
        elif kind == "filed":
            view.filed[a] = b == "correct"
        else:
            _take_card(view, a, b)
    return view


@lru_cache(maxsize=256)
def _rules(system: str) -> Rules:
    me, team, services = (pattern.search(system) for pattern in (_ME, _TEAM, _SERVICES))
    query_round, file_round = _QUERY_ROUND.search(system), _FILE_ROUND.search(system)
    channel = _CHANNEL.search(system)
    if not (me and team and services and query_round and file_round):
        raise ValueError("the system prompt is not the outage room's")
    return Rules(
        me=me[1],
        team=tuple(team[1].split(", ")),
        services=tuple(services[1].split(", ")),
        query_round=int(query_round[1]),
        file_round=int(file_round[1]),
        post_length=int(channel[1]) if channel else 0,
    )


@lru_cache(maxsize=256)
def _head(text: str) -> tuple[tuple[str, ...], tuple[Change, ...]]:
    alerts = tuple(match[1] for match in _ALERT.finditer(text))
    changes = tuple(Change(m[1], m[3], m[4], m[2]) for m in _CHANGE.finditer(text))
    return alerts, changes


@lru_cache(maxsize=4096)
def _event(line: str) -> tuple[str, int, str, str] | None:
    """(kind, round, first, second) of a line of the history; None for a line of another kind."""
    event = _EVENT.match(line)
    if event is None:
        return None
    round, text = int(event[1]), event[2]
    if match := _NOTE.match(text):
        return "note", round, "", unquoted(match[1])
    if match := _CARD.match(text):
        return "card", round, match[1], match[2]
    if match := _POST.match(text):
        return "post", round, match[1], unquoted(match[2])
    if match := _FILED.match(text):
        return "filed", round, match[2], match[4]
    return None


def _take_card(view: View, service: str, finding: str) -> None:
    if match := _POINTS.search(finding):
        view.points[service] = match[1]
    elif match := _CAUSED.search(finding):
        view.causes[service] = match[1]
    else:
        view.clean.add(service)
