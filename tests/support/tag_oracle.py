"""What a remote tagger's model would answer, if it were as good as the rules.

Both stand-in servers read the request as a model would have to, put the post to the rules tagger
and answer in their own form. So a remote tagger must find in a log what the rules find, as far as
the four questions can say it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from classifiers.directives import Change, PostInRoom
from classifiers.questions import NONE
from classifiers.rules import RulesTagger
from swarm.text import unquoted

TAGGER = RulesTagger()
_POST = re.compile(r'^\[round (\d+)\] ("(?:[^"\\]|\\.)*") posts: (".*")$', re.MULTILINE)
_WORD = r'"(?:[^"\\]|\\.)*"'


def entries(post: PostInRoom) -> dict[str, dict[str, str]]:
    """The four answers about each teammate."""
    found = TAGGER.tag([post])[0]
    answers = {}
    for name in post.teammates:
        asked = [d.target for d in found if (d.teammate, d.kind) == (name, "query")]
        filed = [d.target for d in found if (d.teammate, d.kind) == (name, "file")]
        answers[name] = {
            "step": "query" if asked else "file" if filed else "nothing",
            "service": asked[0] if asked else NONE,
            "service2": asked[1] if asked[1:] else NONE,
            "change": filed[0] if filed and not asked else NONE,
        }
    return answers


def post_in_state(state: dict[str, Any]) -> PostInRoom:
    """The post that a request to the decision model is about."""
    return PostInRoom(
        state["round"],
        state["author"],
        tuple(state["teammates"]),
        tuple(state["services"]),
        tuple(Change(**change) for change in state["changes"]),
        state["post"],
    )


def post_in_prompt(turn: str) -> PostInRoom | None:
    """The post that a tagging prompt is about; None when `turn` is no such prompt."""
    said = _POST.search(turn)
    if said is None or not turn.startswith("Teammates: "):
        return None
    lines = turn.split("\n")
    teammates, services = ([unquoted(w) for w in re.findall(_WORD, line)] for line in lines[:2])
    changes = [unquoted(re.findall(_WORD, line)[0]) for line in lines[2:] if line[:3] == '- "']
    return PostInRoom(
        int(said[1]),
        unquoted(said[2]),
        tuple(teammates),
        tuple(services),
        tuple(Change(change, "", "", "") for change in changes),
        unquoted(said[3]),
    )


def reply_to(turn: str, confidence: float) -> str | None:
    """An LLM's reply to a tagging prompt; None when `turn` is no such prompt."""
    post = post_in_prompt(turn)
    if post is None:
        return None
    answers = [
        {"teammate": name, **entry, "confidence": confidence}
        for name, entry in entries(post).items()
    ]
    return json.dumps({"answers": answers})
