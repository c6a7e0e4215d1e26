"""How an agent's text explains a decision that a directive changed.

Five kinds, tried in this order: the author is named in the public post; only in the private note;
only in the reasoning text; a plan is spoken of without its author; nothing of the sort. A name
counts as a whole word. This is a reading by rules; the published one was made by two LLM readers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, get_args

Citation = Literal["post", "note", "reasoning", "plan", "other"]
CITATIONS: tuple[Citation, ...] = get_args(Citation)

_PLAN = re.compile(
    r"\b(plan|split|assign(?:ed|ment|ments)?|allocation|suggest(?:ed|ion)|as asked|rota|list)\b",
    re.IGNORECASE,
)
# What a surrogate notes for itself in round 1 is not somebody's plan.
_OWN_PLAN = re.compile(r"\bPlan: query ")


@lru_cache(maxsize=1024)
def _named(author: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(author)}(?!\w)", re.IGNORECASE)


def citation(author: str, *, post: str, note: str, reasoning: str | None) -> Citation:
    """How the texts of a turn explain its decision.

    Examples
    --------
    >>> citation("Fay", post="Taking cart, per Fay.", note="", reasoning=None)
    'post'
    >>> citation("Fay", post="Taking cart.", note="The plan gives me cart.", reasoning=None)
    'plan'
    """
    named = _named(author)
    if named.search(post):
        return "post"
    if named.search(note):
        return "note"
    if reasoning and named.search(reasoning):
        return "reasoning"
    texts = _OWN_PLAN.sub("", f"{post}\n{note}\n{reasoning or ''}")
    return "plan" if _PLAN.search(texts) else "other"
