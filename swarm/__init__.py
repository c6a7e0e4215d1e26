"""swarm: put agents with equal rights into a room and find out who really leads.

Start with ``python -m swarm --help``, or from Python::

    from swarm import Study

The names below are the public surface; they are imported when first used, so that
``import swarm`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Block": "swarm.prompt",
    "Prompt": "swarm.prompt",
    "Model": "swarm.models.base",
    "Reply": "swarm.models.base",
    "Study": "swarm.study",
    "load_study": "swarm.study",
    "Log": "swarm.log.store",
    "Scenario": "swarm.scenario",
    "SwarmError": "swarm.errors",
    "UsageError": "swarm.errors",
}

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604  the names are strings


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'swarm' has no attribute {name!r}")
