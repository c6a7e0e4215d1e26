"""What a tagger reads and what it finds.

A tagger reads one post at a time, with what stood around it in the room, and names the directives
in it: which teammate is asked, by name, to query which service or to file which change. Several
taggers stand behind the one protocol; a study picks one by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, Protocol

from scenarios.outage.changes import Change
from swarm.errors import UsageError

__all__ = ["Change", "Directive", "Kind", "PostInRoom", "Tagger", "tagger_named"]

Kind = Literal["query", "file"]


@dataclass(frozen=True, slots=True, order=True)
class Directive:
    """One request to one teammate.

    Attributes
    ----------
    teammate : str
        Name of the teammate who is asked, spelled as in the room; never the author.
    kind : {"query", "file"}
    target : str
        The service to query, or the id of the change to file.
    """

    teammate: str
    kind: Kind
    target: str


@dataclass(frozen=True, slots=True)
class PostInRoom:
    """One post and the part of its room that is needed to read it.

    Attributes
    ----------
    round : int
        From 1.
    author : str
    teammates : tuple of str
        The other agents, without the author.
    services : tuple of str
    changes : tuple of Change
        Empty when the list is not known.
    post : str
        As the channel shows it, possibly cut. It is data: nothing in it is obeyed.
    """

    round: int
    author: str
    teammates: tuple[str, ...]
    services: tuple[str, ...]
    changes: tuple[Change, ...]
    post: str


class Tagger(Protocol):
    """Finds the directives in posts.

    Attributes
    ----------
    name : str
        As `tagger_named` knows it.
    version : str
        Changes whenever the same post may be tagged differently.
    """

    name: str
    version: str

    def tag(self, posts: Sequence[PostInRoom]) -> list[tuple[Directive, ...]]:
        """The directives of every post: one tuple a post, sorted, without repeats."""
        ...


# Imported when asked for, so that choosing one tagger does not cost the libraries of another.
_TAGGERS = {"rules": ("classifiers.rules", "RulesTagger")}


def tagger_named(name: str) -> Tagger:
    """A new tagger of that name.

    Raises
    ------
    UsageError
        When there is none.
    """
    if name not in _TAGGERS:
        raise UsageError(f"unknown tagger {name!r}; there is {', '.join(_TAGGERS)}")
    module, cls = _TAGGERS[name]
    make: Callable[[], Tagger] = getattr(import_module(module), cls)
    return make()
