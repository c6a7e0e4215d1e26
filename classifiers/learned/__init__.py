"""The default tagger: learned from labelled posts, and shipped trained.

The idea: a directive is a *pair*, a mention of a teammate and a mention of a service or change that
belong together in a request. Reading is split accordingly:

1. `words`, `forms`: a post becomes tokens; teammates, services and changes lose their names, so
   what is learned holds for any names.
2. `pairs`: every teammate's mention with every object's, and how the two stand to each other.
3. `network`: a small recurrent network reads the post both ways and scores the pairs.
4. Here: scores become probabilities, probabilities directives.

`train` makes the artefact ``model.npz`` from the corpus and from what a larger reader (`teacher`)
thinks of posts that nobody wrote (`unwritten`); card.md says how good it is and where it is not.
All posts of a batch go through together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from threadpoolctl import ThreadpoolController

from classifiers.directives import NOTHING, Directive, PostInRoom, Tagged, Tagger
from classifiers.learned.answers import answers_from
from classifiers.learned.artefact import Artefact, load
from classifiers.learned.pairs import pairs_of, tokens_of
from classifiers.learned.tokens import Kind, hold_a_pair
from classifiers.learned.words import Reader
from classifiers.questions import reading_of

MODEL = Path(__file__).with_name("model.npz")
NOTED = 0.05
"""Probability from which on a candidate that does not count is listed as a doubt."""
_AT_ONCE = 512  # posts; bounds the memory, and caches hold it


class LearnedTagger(Tagger):
    """Tags posts with a trained network.

    Parameters
    ----------
    path : Path, optional
        Another artefact than the one that is shipped.
    extended : bool
        Whether a teammate may be asked both to query and to file in one post, and for more than two
        queries. The published questions cannot say that; False keeps to them (see `answers`).
    """

    name = "learned"
    version = "1"

    def __init__(self, path: Path | None = None, *, extended: bool = True) -> None:
        self._artefact, self._reader, self._threads = _loaded(path or MODEL)
        self._extended = extended
        self.model = self._artefact.hash

    def read(self, posts: Sequence[PostInRoom]) -> list[Tagged]:
        """What each post holds: one entry a post."""
        found: list[Tagged] = []
        # One core: processes share the posts, and idle threads of a product would only wait.
        with self._threads.limit(limits=1, user_api="blas"):
            for begin in range(0, len(posts), _AT_ONCE):
                some = posts[begin : begin + _AT_ONCE]
                candidates = self.candidates(some)
                found += [
                    self._tagged(post, candidates[k]) if k in candidates else NOTHING
                    for k, post in enumerate(some)
                ]
        return found

    def candidates(self, posts: Sequence[PostInRoom]) -> dict[int, dict[Directive, float]]:
        """Directives that a post may hold, with probabilities from `NOTED` on, by its number.

        A post without a teammate's name, or without an object, has none.
        """
        kept: list[int] = []
        read: list[list[int]] = []
        for number, post in enumerate(posts):
            tokens = self._reader.tokens(post)
            if hold_a_pair(tokens):
                kept.append(number)
                read.append(tokens)
        if not kept:
            return {}
        tokens_ = tokens_of(read)
        rounds = np.array([posts[number].round for number in kept])
        pairs = pairs_of(tokens_, rounds, self._artefact.vocabulary)
        logits = self._artefact.network.scores(tokens_, pairs) / self._artefact.temperature
        likely = 1 / (1 + np.exp(-np.clip(logits, -30, 30).astype(np.float64)))
        found: dict[int, dict[Directive, float]] = defaultdict(dict)
        noted = np.flatnonzero(likely >= NOTED)
        target_of = pairs.target[noted]
        for number, name, target, change, probability in zip(
            pairs.post[noted].tolist(),
            tokens_["ref"][pairs.name[noted]].tolist(),
            tokens_["ref"][target_of].tolist(),
            (tokens_["kind"][target_of] == Kind.CHANGE).tolist(),
            likely[noted].tolist(),
            strict=True,
        ):
            post = posts[kept[number]]
            directive = (
                Directive(post.teammates[name], "file", post.changes[target].id)
                if change
                else Directive(post.teammates[name], "query", post.services[target])
            )
            mine = found[kept[number]]
            mine[directive] = max(probability, mine.get(directive, 0.0))
        return found

    def _tagged(self, post: PostInRoom, likely: dict[Directive, float]) -> Tagged:
        if not self._extended:
            return reading_of(post, answers_from(post, likely))
        directives = tuple(sorted(d for d, p in likely.items() if p >= 0.5))
        return Tagged(
            directives,
            tuple(likely[d] for d in directives),
            tuple(sorted((d, p) for d, p in likely.items() if p < 0.5)),
        )


@cache
def _loaded(path: Path) -> tuple[Artefact, Reader, ThreadpoolController]:
    """What all taggers of a process share: the model, and what was learned of words."""
    artefact = load(path)
    reader = Reader(artefact.vocabulary)
    # The first product of a process takes milliseconds; that is loading, not the first post.
    first = tokens_of([reader.tokens(PostInRoom(1, "Ada", ("Bo",), ("cart",), (), "Bo: cart"))])
    artefact.network.scores(first, pairs_of(first, np.ones(1, np.int64), artefact.vocabulary))
    return artefact, reader, ThreadpoolController()
