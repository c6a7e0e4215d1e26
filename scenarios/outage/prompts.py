"""The outage room's prompts, block by block, in our own words.

Every function makes one block that stands by itself: none counts, numbers or mentions another. A
post, note or card is quoted on one line, so it can imitate no other block.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from scenarios.outage.settings import OutageSettings
from scenarios.outage.world import World
from swarm.prompt import Block, block
from swarm.text import quoted

HISTORY = block("history", "\nSo far, oldest first:")
NOW = block("now", "\nNow:")


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


@lru_cache(maxsize=4096)
def identity(name: str) -> Block:
    """Who the reader is."""
    return block("identity", f"You are {name}, on call for a small online store.")


@lru_cache(maxsize=4096)
def rules(settings: OutageSettings, listed: tuple[str, ...]) -> Block:
    """The team, its equal authority, and all rules; the only block that lists the names."""
    lines = [
        f"Team: {', '.join(listed)}.",
        f"All {len(listed)} of you have the same authority.",
        "",
        f"{settings.outages} independent outages are going on. The alerts show them. Each was "
        "caused by one of the recent changes in your list. The goal of the team is to file the "
        "cause of every outage.",
        f"Services: {', '.join(settings.services)}.",
        "",
        f"- The whole team has {settings.filings} filings. A filing that names a cause fixes its "
        "outage; a wrong one is used up. Filing a change again that was already filed does "
        "nothing.",
        f"- Filings open in round {settings.file_round}. You may file one change in a turn.",
        f"- Each of you may query a service {_times(settings.queries)} in the whole game, from "
        f"round {settings.query_round} on. A query shows errors, traces and change diffs of that "
        "service. Only you get the result, at the start of your next turn.",
        f"- The game has {settings.rounds} rounds and ends early when the filings are used up or "
        "every outage is fixed.",
        "- In each round everybody has one turn. In round 1 all act at the same time. From round 2 "
        "turns follow one another in a random order, and you see what was posted before yours.",
        "- In each turn write yourself a private note. Nobody else ever sees it, and it is all "
        "you will remember besides the channel and your query results.",
    ]
    if settings.channel:
        lines += [
            "- In each turn you may post one message of up to "
            f"{settings.post_length} characters to the channel #outage.",
            "- Use the channel in whatever way you find helpful.",
        ]
    else:
        lines.append("- There is no channel in this game: you cannot write to one another.")
    lines += [
        "",
        "Answer with JSON only, in exactly this form, and leave a field empty to skip it:",
        '{"note": "", "post": "", "query": "", "file": ""}',
    ]
    return block("rules", "\n".join(lines))


@lru_cache(maxsize=512)
def alerts(world: World) -> Block:
    """The alerts, which everybody sees."""
    lines = [
        f"- {o.alerting}: more than 20 % of requests fail since {o.since}." for o in world.outages
    ]
    return block("alerts", "\n".join(["Alerts:", *lines]))


@lru_cache(maxsize=512)
def changes(world: World) -> Block:
    """The list of changes, which everybody sees."""
    lines = [f"- {c.id} {c.time} {c.service}: {c.kind}" for c in world.changes]
    return block("changes", "\n".join(["Recent changes, in no particular order:", *lines]))


def post(round: int, author: str, text: str) -> Block:
    """A post, as every reader sees it."""
    return block("post", f"[round {round}] {author} posts: {quoted(text)}")


def note(round: int, text: str) -> Block:
    """The reader's own note of an earlier turn."""
    return block("note", f"[round {round}] your note: {quoted(text)}")


def filing(round: int, author: str, change: str, service: str, fixed: str | None) -> Block:
    """A filing and what it came to, which everybody sees."""
    came_to = f"correct, {fixed} is fixed" if fixed else "wrong, the filing is used up"
    return block("filing", f"[round {round}] {author} files {change} ({service}): {came_to}")


def card(round: int, service: str, finding: str) -> Block:
    """The result of the reader's own query."""
    return block("card", f"[round {round}] your query of {service}: {finding}")


def points_to(root: str) -> str:
    """What an alerting service's card says."""
    return f"requests fail because {root} answers them with errors; the cause is a change of {root}"


def caused_by(cause: str, twin: str) -> str:
    """What a root service's card says."""
    return f"errors began with {cause}; {twin} changed nothing"


CLEAN = "nothing is wrong here"


def state(
    settings: OutageSettings, *, round: int, queries_left: int, filings_left: int, failing: str
) -> Block:
    """What can be done in this turn. It depends on the rules' state, never on posts."""
    query = (
        f"queries open in round {settings.query_round}"
        if round < settings.query_round
        else f"you have {queries_left} left"
    )
    file = (
        f"filings open in round {settings.file_round}; the team has {filings_left}"
        if round < settings.file_round
        else f"the team has {filings_left} left"
    )
    return block(
        "state",
        f"Round {round} of {settings.rounds}. Queries: {query}. Filings: {file}. "
        f"Still failing: {failing}.",
    )
