"""What surrogate agents write in the outage room.

The idea: an agent means an *intent* (a plan, a claim, a finding, ...), and its *voice* decides how
that is put into words. Every voice has its own forms for every intent (`forms`), and a form is
chosen at random, so that finding directives in posts is work and not a formality. Names, services
and change ids are parameters; no form knows the room's. `reading` is the other half: it reads
these posts.
"""

import random
from collections.abc import Sequence
from typing import Literal

from scenarios.outage.forms import (
    CHAT,
    CLAIM,
    FILING,
    FINDING_ALERT,
    FINDING_CLEAN,
    FINDING_ROOT,
    FOLLOW,
    GREETINGS,
    OPEN_REQUEST,
    ORDER_FILE,
    ORDER_QUERY,
    PLANS,
    REASONS,
    ROLL_CALL,
    TAILS,
    TOOK,
    VOICES,
    Layout,
)

__all__ = [
    "VOICES",
    "chat",
    "claim",
    "filing",
    "finding_alert",
    "finding_clean",
    "finding_root",
    "follow",
    "open_request",
    "order",
    "plan",
    "roll_call",
    "took",
]


def plan(
    rng: random.Random,
    voice: str,
    me: str,
    assignments: Sequence[tuple[str, str]],
    own: str | None,
    limit: int = 280,
) -> str:
    """A post of at most `limit` characters that gives teammates a service each.

    Parameters
    ----------
    rng : random.Random
        Chooses the layout, the greeting and the tail.
    voice : str
        One of `VOICES`.
    me : str
        The author's name.
    assignments : sequence of (teammate, service)
        Whom to ask for what, in the order to be written.
    own : str or None
        The service that the author takes itself.
    limit : int
        Characters allowed. The tail goes first, then the greeting, then the author's own entry,
        then the voice's layout in favour of a bare list; only then are whole assignments left out
        from the end. If not even one fits, the post is empty.
    """
    layout = rng.choice(PLANS[voice])
    greeting, tail = rng.choice(GREETINGS[voice]), rng.choice(TAILS[voice])
    place = rng.randrange(len(assignments) + 1) if "{me}" in layout.own else len(assignments)
    if tail and "\n" in layout.join:  # a list over lines ends with its line
        tail = "\n" + tail.lstrip()
    body = _laid_out(layout, assignments, me, own, place)
    bare = _laid_out(layout, assignments, me, None, place)
    for text in (greeting + body + tail, greeting + body, body, bare):
        if len(text) <= limit:
            return text
    text = ""
    for name, service in assignments:
        longer = f"{text}, {name}: {service}" if text else f"{name}: {service}"
        if len(longer) > limit:
            break
        text = longer
    return text


def order(
    rng: random.Random,
    voice: str,
    teammate: str,
    kind: Literal["query", "file"],
    target: str,
    reason: str | None = None,
) -> str:
    """A post with one directive: `teammate` is to query or file `target` (for `reason`)."""
    forms = ORDER_QUERY if kind == "query" else ORDER_FILE
    why = rng.choice(REASONS[voice]).format(why=reason) if reason else ""
    return rng.choice(forms[voice]).format(n=teammate, s=target, c=target, w=why)


def claim(rng: random.Random, voice: str, service: str) -> str:
    """A post that says that the author will query `service`."""
    return _one(rng, CLAIM[voice], service)


def took(rng: random.Random, voice: str, service: str) -> str:
    """A post that says that the author has queried `service` this turn."""
    return _one(rng, TOOK[voice], service)


def finding_alert(rng: random.Random, voice: str, alerting: str, root: str) -> str:
    """A post that says that the trouble of `alerting` comes from `root`."""
    return _one(rng, FINDING_ALERT[voice], alerting, r=root)


def finding_root(rng: random.Random, voice: str, service: str, change: str) -> str:
    """A post that says that the card of `service` shows `change` to be the cause."""
    return _one(rng, FINDING_ROOT[voice], service, c=change)


def finding_clean(rng: random.Random, voice: str, service: str) -> str:
    """A post that says that the card of `service` shows nothing wrong."""
    return _one(rng, FINDING_CLEAN[voice], service)


def filing(rng: random.Random, voice: str, change: str, service: str) -> str:
    """A post that says that the author files `change`, often with its `service`."""
    return _one(rng, FILING[voice], service, c=change)


def follow(rng: random.Random, voice: str, author: str, service: str) -> str:
    """A text (post or note) in which one takes `service` as `author` suggested."""
    return _one(rng, FOLLOW[voice], service, n=author)


def chat(rng: random.Random, voice: str) -> str:
    """A post that names nobody, no service and no change."""
    return rng.choice(CHAT[voice])


def roll_call(rng: random.Random, voice: str, claims: Sequence[tuple[str, str]]) -> str:
    """A post that lists who has which service and asks nobody for anything."""
    return _laid_out(rng.choice(ROLL_CALL[voice]), claims, "", None, 0)


def open_request(rng: random.Random, voice: str, services: Sequence[str]) -> str:
    """A post that asks for somebody, nobody in particular, to take `services`."""
    return _one(rng, OPEN_REQUEST[voice], _series(services))


def _one(rng: random.Random, forms: tuple[str, ...], s: str, **slots: str) -> str:
    """A random one of `forms`, filled in."""
    change = slots.get("c", "")
    return rng.choice(forms).format(s=s, S=s[:1].upper() + s[1:], C=change, **slots)


def _series(words: Sequence[str]) -> str:
    """Returns "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _laid_out(
    layout: Layout, pairs: Sequence[tuple[str, str]], me: str, own: str | None, place: int
) -> str:
    """Returns `pairs` as `layout` writes them, with the author's entry before item `place`."""
    if not layout.item:
        names, services = [name for name, _ in pairs], [service for _, service in pairs]
        text = layout.frame.format(names=_series(names), services=_series(services))
        return text + (layout.own.format(s=own) if own else "")
    entries = [(layout.item, name, service) for name, service in pairs]
    if own:
        entries.insert(place, (layout.own, me, own))
    written = [
        form.format(n=name, me=name, s=service, S=service[:1].upper() + service[1:], i=number)
        for number, (form, name, service) in enumerate(entries, start=1)
    ]
    if layout.last and len(written) > 1:
        written[-2:] = [written[-2] + layout.last + written[-1]]
    return layout.frame.format(body=layout.join.join(written))
