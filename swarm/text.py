"""What an agent writes is data.

Agents' text goes into other agents' prompts, into logs, terminals and pages. Two functions keep it
from being anything but text there: `storable` for what is kept, `quoted` for what is shown inside
a line of somebody's prompt or terminal.
"""

from __future__ import annotations

import json
import re

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# C1 controls, DEL, line and paragraph separators, and bidirectional overrides: json.dumps leaves
# them as they are, but they break lines, move a terminal's cursor or reorder what a reader sees.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)


def storable(text: str) -> str:
    """`text` with lone surrogates, which have no UTF-8 form, replaced by U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text) if not text.isascii() else text


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def quoted(text: str) -> str:
    """`text` as one JSON string on one line, so that it can imitate no line around it.

    Examples
    --------
    >>> print(quoted('a plan:\\nBo: cart'))
    "a plan:\\nBo: cart"
    """
    return _UNSAFE.sub(_escape, json.dumps(text, ensure_ascii=False))


def unquoted(line: str) -> str:
    """The text that `quoted` made `line` of; `line` itself when it is no JSON string."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return value if isinstance(value, str) else line


def shown(text: str) -> str:
    """`text` for a terminal: line breaks stay, every other control character is escaped."""
    return _CONTROL.sub(_escape, storable(text))
