"""The outage room: eight agents share a channel and repair four outages of a small store.

The names below are imported when first used: whoever only reads posts needs no engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "OutageRoom": "scenarios.outage.room",
    "OutageSettings": "scenarios.outage.settings",
}

__all__ = [*_PUBLIC]  # noqa: PLE0604  the names are strings


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'scenarios.outage' has no attribute {name!r}")
