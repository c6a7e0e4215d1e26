"""Posts that nobody wrote: written ones joined, cut and bent, for a teacher to label.

A few tens of thousands of posts are all that is labelled, but what small changes do to an order
("bo on cart" / "bo was on cart") can be asked of a larger reader. So posts are made here of pieces
of others, with words put in, taken out or exchanged where such words stand in other posts. Many
are odd; their labels are what the teacher thinks, with its doubts.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from classifiers.learned.dataset import Post, Triple
from classifiers.learned.tokens import (
    KIND_BITS,
    NO_REF,
    PARTS,
    Kind,
    Vocabulary,
    hold_a_pair,
    part_of,
)
from swarm.errors import UsageError

LONGEST = 110  # tokens
_WORD, _REF, _SPACE = PARTS["word"][0], PARTS["ref"][0], 1 << PARTS["space"][0]
_MOST = {Kind.TEAMMATE: 8, Kind.SERVICE: 10, Kind.CHANGE: 15}
_TRIES = 8
_BEGIN, _END = -1, -2
Context = tuple[int, int]


class Unwritten:
    """Makes posts of others.

    Parameters
    ----------
    posts : sequence of Post
        What they are made of.
    """

    def __init__(self, posts: Sequence[Post], vocabulary: Vocabulary) -> None:
        self._posts = posts
        self._ends = {vocabulary[mark] for mark in (".", "!", "?", "<line>", ";")}
        between: dict[Context, Counter[int]] = defaultdict(Counter)
        for post in posts:
            kept = [_BEGIN, *(_class(token) for token in post.tokens), _END]
            for before, token, after in zip(kept, kept[1:], kept[2:], strict=False):
                if not token & KIND_BITS:
                    between[before, after][token] += 1
        self._between: Mapping[Context, tuple[NDArray[np.int64], NDArray[np.float64]]] = {
            context: (np.array(list(words)), np.sqrt(list(words.values())))
            for context, words in between.items()
        }

    def make(self, many: int, rng: np.random.Generator) -> list[Post]:
        """So many posts with at least one pair; their labels are empty."""
        made: list[Post] = []
        while len(made) < many:
            post = self._posts[int(rng.integers(len(self._posts)))]
            how = rng.random()
            if how < 0.4:
                tokens = self._bent(post.tokens, rng)
            elif how < 0.75:
                tokens = self._joined(post, self._posts[int(rng.integers(len(self._posts)))], rng)
                if rng.random() < 0.4:
                    tokens = self._bent(tokens, rng)
            else:
                tokens = self._cut(post, rng)
            if hold_a_pair(tokens) and len(tokens) <= LONGEST:
                made.append(Post(tokens, post.round, {}))
        return made

    def _segments(self, tokens: Sequence[int]) -> list[list[int]]:
        segments: list[list[int]] = [[]]
        for token in tokens:
            segments[-1].append(token)
            if not token & KIND_BITS and token >> _WORD in self._ends:
                segments.append([])
        return [segment for segment in segments if segment]

    def _joined(self, post: Post, other: Post, rng: np.random.Generator) -> list[int]:
        """The beginning of one and the end of another, about other people and services."""
        ahead, behind = self._segments(post.tokens), self._segments(_renamed(other.tokens, rng))
        upto, since = int(rng.integers(1, len(ahead) + 1)), int(rng.integers(len(behind)))
        kept = ahead[:upto] + behind[since:]
        return [token for segment in kept for token in segment][:LONGEST]

    def _cut(self, post: Post, rng: np.random.Generator) -> list[int]:
        """One or two sentences of it."""
        segments = self._segments(post.tokens)
        at = int(rng.integers(len(segments)))
        kept = segments[at : at + 1 + int(rng.random() < 0.5)]
        tokens = [token for segment in kept for token in segment]
        return self._bent(tokens, rng) if len(segments) == 1 or rng.random() < 0.6 else tokens

    def _bent(self, given: Sequence[int], rng: np.random.Generator) -> list[int]:
        """With up to three changes."""
        tokens = list(given)
        for _ in range(rng.integers(1, 4)):
            if len(tokens) < 3:
                break
            how = rng.random()
            if how < 0.3:
                self._exchange(tokens, rng)
            elif how < 0.55:
                self._insert(tokens, rng)
            elif how < 0.8:
                _drop(tokens, rng)
            elif how < 0.9:
                _swap(tokens, rng)
            else:
                begin = int(rng.integers(len(tokens)))
                end = min(len(tokens), begin + int(rng.integers(1, 5)))
                if len(tokens) - (end - begin) > 2:
                    del tokens[begin:end]
        return tokens

    def _exchange(self, tokens: list[int], rng: np.random.Generator) -> None:
        for _ in range(_TRIES):
            at = int(rng.integers(len(tokens)))
            word = None if tokens[at] & KIND_BITS else self._fitting(tokens, at, at + 1, rng)
            if word is not None:
                tokens[at] = word | tokens[at] & _SPACE
                return

    def _insert(self, tokens: list[int], rng: np.random.Generator) -> None:
        for _ in range(_TRIES):
            at = int(rng.integers(len(tokens) + 1))
            word = self._fitting(tokens, at, at, rng)
            if word is not None:
                tokens.insert(at, word | _SPACE)
                return

    def _fitting(
        self, tokens: Sequence[int], begin: int, end: int, rng: np.random.Generator
    ) -> int | None:
        """A word that stands between such neighbours in some post."""
        before = _class(tokens[begin - 1]) if begin else _BEGIN
        after = _class(tokens[end]) if end < len(tokens) else _END
        words, weights = self._between.get((before, after), (None, None))
        if words is None or weights is None:
            return None
        return int(rng.choice(words, p=weights / weights.sum()))


def _class(token: int) -> int:
    """The token without what it refers to, how it is spelled, and the space."""
    return token & KIND_BITS | token >> _WORD << _WORD


def _renamed(tokens: Sequence[int], rng: np.random.Generator) -> list[int]:
    """About others: each mention of the same stays a mention of the same."""
    given: dict[tuple[int, int], int] = {}
    renamed = []
    for token in tokens:
        kind = Kind(token & KIND_BITS)
        if kind in _MOST:
            who = kind, part_of(token, "ref")
            if who not in given:
                taken = {number for (of, _), number in given.items() if of == kind}
                free = [number for number in range(_MOST[kind]) if number not in taken]
                given[who] = int(rng.choice(free)) if free else who[1]
            token = token & NO_REF | given[who] << _REF  # noqa: PLW2901
        renamed.append(token)
    return renamed


def _drop(tokens: list[int], rng: np.random.Generator) -> None:
    for _ in range(_TRIES):
        at = int(rng.integers(len(tokens)))
        if not tokens[at] & KIND_BITS:
            del tokens[at]
            return


def _swap(tokens: list[int], rng: np.random.Generator) -> None:
    """Two neighbouring mentions change places."""
    mentions = [at for at, token in enumerate(tokens) if token & KIND_BITS in _MOST]
    if len(mentions) > 1:
        first = int(rng.integers(len(mentions) - 1))
        one, two = mentions[first : first + 2]
        tokens[one], tokens[two] = tokens[two], tokens[one]


def candidates_of(post: Post) -> list[Triple]:
    """Every teammate of a post with every target, in order."""
    kinds = [(token & KIND_BITS, part_of(token, "ref")) for token in post.tokens]
    people = sorted({ref for kind, ref in kinds if kind == Kind.TEAMMATE})
    targets = sorted({of for of in kinds if of[0] in (Kind.SERVICE, Kind.CHANGE)})
    return [(who, *what) for who in people for what in targets]


def save_taught(
    path: Path, posts: Sequence[Post], logits: Sequence[Mapping[Triple, float]], *, seed: int
) -> None:
    """Write a teacher's logits of the candidates of `posts`, in sixteenths within +-127/16."""
    flat = [some[triple] for post, some in zip(posts, logits, strict=True)
            for triple in candidates_of(post)]  # fmt: skip
    sixteenths = np.clip(np.round(np.array(flat) * 16), -127, 127).astype(np.int8)
    np.savez_compressed(
        path,
        allow_pickle=False,
        posts=np.array(len(posts)),
        seed=np.array(seed),
        digest=np.array(_digest(posts)),
        sixteenths=sixteenths,
    )


def load_taught(path: Path, source: Unwritten) -> list[Post]:
    """The posts of `source` with a teacher's labels.

    Raises
    ------
    UsageError
        When the file belongs to another corpus.
    """
    with np.load(path, allow_pickle=False) as held:
        posts = source.make(int(held["posts"]), np.random.default_rng(int(held["seed"])))
        if str(held["digest"]) != _digest(posts):
            raise UsageError(
                f"{path} was made from another corpus; run python -m classifiers.learned.teacher, "
                "or train without it (--no-taught)"
            )
        likely = 1 / (1 + np.exp(-held["sixteenths"].astype(np.float64) / 16))
    taught, at = [], 0
    for post in posts:
        candidates = candidates_of(post)
        answers = likely[at : at + len(candidates)].tolist()
        taught.append(Post(post.tokens, post.round, dict(zip(candidates, answers, strict=True))))
        at += len(candidates)
    return taught


def _digest(posts: Sequence[Post]) -> str:
    spelled = hashlib.blake2b(digest_size=8)
    for post in posts:
        spelled.update(np.array([post.round, *post.tokens], dtype=np.int64).tobytes())
    return spelled.hexdigest()
