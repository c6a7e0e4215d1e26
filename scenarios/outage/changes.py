"""A change: one line of the list that everybody gets. It carries no truth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the room's list of changes.

    Attributes
    ----------
    id : str
        How posts call it, such as ``D-466``.
    service, kind : str
        What was changed, and how.
    time : str
        HH:MM.
    """

    id: str
    service: str
    kind: str
    time: str
