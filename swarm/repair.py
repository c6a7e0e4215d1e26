"""Reading a reply: one JSON object, mended by named rules where it is nearly one.

A reply is ``ok`` when its text is a JSON object, ``repaired`` when a named rule makes it one, and
``invalid`` otherwise. No model mends another model's text, and nothing is guessed: a rule changes
form, never content. Rules are tried from the mildest to the strongest.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ok", "repaired", "invalid"]

MAX_REPLY = 20_000
"""Characters of a reply that are kept and read; the rest is cut before anything else sees it."""

_FENCE = re.compile(r"```[a-zA-Z0-9_]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
# Strings are matched first, and whole, so that a comma inside one stays.
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*+[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a reply was read.

    Attributes
    ----------
    status : {"ok", "repaired", "invalid"}
    rule : str or None
        The rule that made it an object; for an invalid reply, why it is none.
    fields : dict
        The object, empty when invalid. Values have any JSON type.
    """

    status: Status
    rule: str | None
    fields: dict[str, Any]


def read_object(text: str) -> Reading:
    """Read `text` as one JSON object.

    Never raises, whatever the text; the work is linear in its length, which is at most
    `MAX_REPLY`.

    Examples
    --------
    >>> read_object('{"post": "hi"}').status
    'ok'
    >>> read_object('Sure! {"post": "hi",}').rule
    'surrounding text, trailing comma'
    >>> read_object("no").rule
    'no object'
    """
    text = text[:MAX_REPLY]
    fields = _object(text)
    if fields is not None:
        return Reading("ok", None, fields)
    if not text.strip():
        return Reading("invalid", "empty", {})
    names: list[str] = []
    fenced = _FENCE.search(text)
    if fenced and "{" in fenced.group(1):
        text = fenced.group(1)
        names.append("fence")
        if (fields := _object(text)) is not None:
            return Reading("repaired", "fence", fields)
    start = text.find("{")
    if start < 0:
        return Reading("invalid", "no object", {})
    end = text.rfind("}")
    body = text[start : end + 1] if end > start else text[start:]
    if body.strip() != text.strip():
        names.append("surrounding text")
        if (fields := _object(body)) is not None:
            return Reading("repaired", ", ".join(names), fields)
    first = _first_object(text, start)
    if first is not None:
        return Reading("repaired", ", ".join([*names, "first of several"]), first)
    for name, mended in _mended(body, text[start:]):
        if (fields := _object(mended)) is not None:
            return Reading("repaired", ", ".join([*names, name]), fields)
    fields = _python_literal(body)
    if fields is not None:
        return Reading("repaired", ", ".join([*names, "single quotes"]), fields)
    return Reading("invalid", "no JSON object", {})


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _first_object(text: str, start: int) -> dict[str, Any] | None:
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _mended(body: str, rest: str) -> list[tuple[str, str]]:
    """Candidate texts, each with the rule that made it; `rest` runs to the end of the reply."""
    bare = _TRAILING_COMMA.sub(lambda match: match.group(1) or "", body)
    mended = [("trailing comma", bare)]
    closed = _closed(rest)
    if closed is not None:
        mended.append(("truncated", closed))
    return mended


def _closed(text: str) -> str | None:
    """`text` with an open string and the outermost open brackets closed, if it breaks off."""
    stack: list[str] = []
    in_string = escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif in_string:
            if character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]" and (not stack or stack.pop() != character):
            return None
    if not stack or len(stack) > 50:
        return None
    if escaped:
        text = text[:-1]
    text = text + '"' if in_string else text.rstrip().rstrip(",")
    ends = "".join(reversed(stack))
    # A key without its value cannot be closed by itself; it says nothing, so null is its value.
    for tail in ("", ": null", " null"):
        if _object(text + tail + ends) is not None:
            return text + tail + ends
    return None


def _python_literal(body: str) -> dict[str, Any] | None:
    try:
        value = ast.literal_eval(body)
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            return None
        return _object(json.dumps(value))  # sets, bytes and the like are no JSON
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
