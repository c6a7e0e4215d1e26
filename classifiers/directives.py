"""What a tagger reads and what it finds.

A tagger reads one post at a time, with what stood around it in the room, and names the directives
in it: which teammate is asked, by name, to query which service or to file which change. Where it
can, it says how sure it is of each. Several taggers stand behind the one protocol; a study picks
one by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol

from scenarios.outage.changes import Change
from swarm.errors import UsageError

__all__ = [
    "Abstaining",
    "Change",
    "Directive",
    "Kind",
    "PostInRoom",
    "Tagged",
    "Tagger",
    "tagger_named",
]

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


@dataclass(frozen=True, slots=True)
class Tagged:
    """What a tagger found in a post.

    Attributes
    ----------
    directives : tuple of Directive
        Those that count; sorted, without repeats.
    probabilities : tuple of (float or None)
        One for each directive, None where the tagger gives none.
    doubts : tuple of (Directive, float)
        What was considered and does not count, with its probability; sorted.
    contradictions : tuple of str
        Answers of the tagger that do not fit each other, by question id.
    """

    directives: tuple[Directive, ...] = ()
    probabilities: tuple[float | None, ...] = ()
    doubts: tuple[tuple[Directive, float], ...] = ()
    contradictions: tuple[str, ...] = ()

    def abstaining(self, below: float) -> Tagged:
        """The same with every directive of a probability under `below` made a doubt.

        A directive without a probability stays: nothing is known against it.

        Examples
        --------
        >>> a, b = Directive("Bo", "query", "cart"), Directive("Cy", "query", "auth")
        >>> found = Tagged((a, b), (0.9, 0.4)).abstaining(0.5)
        >>> found.directives == (a,), found.doubts == ((b, 0.4),)
        (True, True)
        """
        pairs = list(zip(self.directives, self.probabilities, strict=True))
        unsure = [(d, p) for d, p in pairs if p is not None and p < below]
        if not unsure:
            return self
        sure = [(d, p) for d, p in pairs if p is None or p >= below]
        return Tagged(
            tuple(d for d, _ in sure),
            tuple(p for _, p in sure),
            tuple(sorted([*self.doubts, *unsure])),
            self.contradictions,
        )


NOTHING = Tagged()
"""What most posts hold."""


class Tagger(Protocol):
    """Finds the directives in posts. A class that names this one as its base gets `tag`.

    Attributes
    ----------
    name : str
        As `tagger_named` knows it.
    version : str
        Changes whenever the same post may be tagged differently by the same model.
    model : str
        Hash of the trained artefact, or the remote model's name; "" for rules.
    """

    name: str
    version: str
    model: str

    def read(self, posts: Sequence[PostInRoom]) -> list[Tagged]:
        """What is in every post, in their order."""
        ...

    def tag(self, posts: Sequence[PostInRoom]) -> list[tuple[Directive, ...]]:
        """The directives of every post: one tuple a post, sorted, without repeats."""
        return [tagged.directives for tagged in self.read(posts)]

    def check(self) -> None:
        """See that it can be used here and now; nothing is asked of any model.

        Raises
        ------
        UsageError
            In one line, with the mend: a key or a package is missing, a model is unknown.
        """
        return  # by default there is nothing to miss


class Abstaining(Tagger):
    """A tagger that does not count what it is not sure of.

    Parameters
    ----------
    inner : Tagger
    below : float or None
        Directives of a lower probability become doubts; None counts all, the published procedure.

    Attributes
    ----------
    found, counted : int
        Directives that `inner` found so far, and those that count.
    """

    def __init__(self, inner: Tagger, below: float | None) -> None:
        self.name, self.version, self.model = inner.name, inner.version, inner.model
        self.found = self.counted = 0
        self._inner = inner
        self._below = below

    def read(self, posts: Sequence[PostInRoom]) -> list[Tagged]:
        """As the inner tagger's, after abstention."""
        every = self._inner.read(posts)
        sure = every if self._below is None else [t.abstaining(self._below) for t in every]
        self.found += sum(len(tagged.directives) for tagged in every)
        self.counted += sum(len(tagged.directives) for tagged in sure)
        return sure


class _NamesOnly(Protocol):
    """A tagger that names directives and says no more."""

    name: str
    version: str

    def tag(self, posts: Sequence[PostInRoom]) -> list[tuple[Directive, ...]]: ...


class _Certain(Tagger):
    """A tagger by rules behind the protocol: no probabilities, no model."""

    model = ""

    def __init__(self, rules: _NamesOnly) -> None:
        self.name, self.version = rules.name, rules.version
        self._rules = rules

    def read(self, posts: Sequence[PostInRoom]) -> list[Tagged]:
        """What the rules name, all of it counted."""
        return [
            Tagged(found, (None,) * len(found)) if found else NOTHING
            for found in self._rules.tag(posts)
        ]


# Module, class, settings that it takes. Imported when asked for, so that choosing one tagger does
# not cost the libraries of another.
_TAGGERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "rules": ("classifiers.rules", "RulesTagger", ()),
    "learned": ("classifiers.learned", "LearnedTagger", ()),
    "llm": ("classifiers.llm", "LLMTagger", ("model", "api_base", "models", "spending")),
    "jev": ("classifiers.jev", "JevTagger", ("model", "api_base")),
}
_OPTIONS = {"model": "--tagger-model", "api_base": "--tagger-api-base"}
"""Settings that somebody asked for; the others are there for whoever has a use for them."""


def tagger_named(name: str, **settings: Any) -> Tagger:
    """A new tagger of that name.

    Parameters
    ----------
    **settings
        What it may need; None is not given. ``model`` and ``api_base``: which remote model, and
        where. ``models``: a study's live models by name. ``spending``: what calls may cost.

    Raises
    ------
    UsageError
        When there is no such tagger, it takes no such model or address, or lacks one.
    """
    if name not in _TAGGERS:
        raise UsageError(f"unknown tagger {name!r}; there is {', '.join(_TAGGERS)}")
    module, cls, takes = _TAGGERS[name]
    given = {key: value for key, value in settings.items() if value is not None}
    for key, option in _OPTIONS.items():
        if key in given and key not in takes:
            raise UsageError(f"the tagger {name!r} takes no {option}; leave it out")
    made = getattr(import_module(module), cls)(**{k: v for k, v in given.items() if k in takes})
    tagger: Tagger = made if hasattr(made, "read") else _Certain(made)
    return tagger
