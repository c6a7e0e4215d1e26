"""Pairs of a teammate's mention and an object's mention, and how they stand to each other.

Every mention of a teammate is paired with every mention of a service or listed change in the same
post. A pair is described by where the two stand (order, distance, sentence, line), what stands
between them, whether they are the same place of two parallel lists, and whether the same shape
recurs in the post. What the words mean is the network's business; none of this looks at a word
beyond separators. All posts of a batch are worked on at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classifiers.learned.tokens import MOST_REFS, PARTS, Kind, Vocabulary

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SEPARATORS = (",", "and", "&", "+", "/", "or", ";", "then", "<line>")
_ENDS = (".", "?", "!", "<line>", "...")
_CLAUSE = (",", ";", ":")
_SELF = ("i", "me", "i'm", "i'll", "ill", "im", "my", "mine")
_KINDS = 8
_LONGEST_SHAPE = 4  # tokens between the two, for shapes that may recur


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a batch of posts, one post behind the other.

    Attributes
    ----------
    post : (tokens,)
        Which post each belongs to.
    start : (posts + 1,)
        Where each post begins.
    packed : (tokens,)
        The tokens as they were packed.
    kind, ref, form, ending, word, ... : (tokens,)
        Parts of the tokens; see `tokens.PARTS`.
    """

    post: Ints
    start: Ints
    packed: Ints
    parts: dict[str, Ints]

    def __getitem__(self, part: str) -> Ints:
        return self.parts[part]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a batch.

    Attributes
    ----------
    post, name, target : (pairs,)
        The post, and the tokens of the two mentions.
    shape : (pairs,)
        One number for all pairs of a post that have the same few tokens between them, in the same
        order: the entries of a list.
    features : (pairs, features)
        float32, each 0 or 1.
    """

    post: Ints
    name: Ints
    target: Ints
    shape: Ints
    features: NDArray[np.float32]


def tokens_of(posts: Sequence[Sequence[int]]) -> Tokens:
    """Unpack the tokens of some posts."""
    lengths = np.array([len(tokens) for tokens in posts], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(lengths)])
    packed = np.fromiter((t for tokens in posts for t in tokens), np.int64, count=start[-1])
    parts = {part: packed >> low & (1 << bits) - 1 for part, (low, bits) in PARTS.items()}
    return Tokens(np.repeat(np.arange(len(posts)), lengths), start, packed, parts)


def pairs_of(tokens: Tokens, rounds: Ints, vocabulary: Vocabulary) -> Pairs:
    """All pairs of the posts, described.

    Parameters
    ----------
    rounds : (posts,)
        Round of every post, from 1.
    """
    kind = tokens["kind"]
    names = np.flatnonzero(kind == Kind.TEAMMATE)
    targets = np.flatnonzero((kind == Kind.SERVICE) | (kind == Kind.CHANGE))
    first, count = _of_post(targets, tokens, names)
    name = np.repeat(names, count)
    nth = np.arange(len(name)) - np.repeat(np.cumsum(count) - count, count)
    target = targets[np.repeat(first, count) + nth]
    described = _Described(tokens, names, targets, name, target, vocabulary)
    shape = described.shapes()
    features = described.features(rounds, shape)
    return Pairs(tokens.post[name], name, target, shape, features)


def _of_post(places: Ints, tokens: Tokens, of: Ints) -> tuple[Ints, Ints]:
    """For each token in `of`: the first of `places` in its post, and how many there are."""
    starts = np.searchsorted(places, tokens.start)
    post = tokens.post[of]
    return starts[post], starts[post + 1] - starts[post]


class _Described:
    def __init__(
        self,
        tokens: Tokens,
        names: Ints,
        targets: Ints,
        name: Ints,
        target: Ints,
        vocabulary: Vocabulary,
    ) -> None:
        self.tokens = tokens
        self.names, self.targets = names, targets
        self.name, self.target = name, target
        self.low, self.high = np.minimum(name, target), np.maximum(name, target)
        self.forward = name < target
        self._vocabulary = vocabulary
        self._self = self._is(_SELF)

    def _is(self, words: tuple[str, ...]) -> Flags:
        table = np.zeros(len(self._vocabulary), dtype=bool)
        table[[self._vocabulary[word] for word in words]] = True
        flags: Flags = table[self.tokens["word"]]
        return flags

    def features(self, rounds: Ints, shape: Ints) -> NDArray[np.float32]:
        tokens, kind = self.tokens, self.tokens["kind"]
        name, target = self.name, self.target
        gap = self.high - self.low - 1
        columns: list[Flags] = [
            self.forward,
            kind[target] == Kind.CHANGE,
            *_buckets(tokens["form"][target], 3),
            tokens["form"][name] > 0,
            tokens["ending"][name] == 1,
            tokens["ending"][target] > 0,
            tokens["space"][self.high] > 0,
            *_buckets(gap, 9),
            *_buckets(self._between(kind == Kind.TEAMMATE), 3),
            *_buckets(self._between((kind == Kind.SERVICE) | (kind == Kind.CHANGE)), 3),
            *_buckets(self._between((kind == Kind.AUTHOR) | self._self), 2),
            *self._places(),
            *self._lists(),
            *self._neighbours(),
            *_buckets(rounds[tokens.post[name]] - 1, 3),
            *_buckets(np.where(gap <= _LONGEST_SHAPE, np.bincount(shape)[shape], 0), 4),
            *self._mentions(),
        ]
        once = np.stack(columns, axis=1).astype(np.float32)
        return np.concatenate([once, once * self.forward[:, None]], axis=1)

    def _between(self, what: Flags) -> Ints:
        """How many tokens between the two are so."""
        before = np.concatenate([[0], np.cumsum(what)])
        between: Ints = before[self.high] - before[self.low + 1]
        return between

    def _places(self) -> list[Flags]:
        """Same sentence, clause and line, and whether the sentences are questions."""
        ends, line = self._is(_ENDS), self._is(("<line>",))
        sentence = _counted_before(ends)
        clause = _counted_before(ends | self._is(_CLAUSE))
        own = sentence + self.tokens.post  # the first sentence of a post is no other's last
        asks = np.bincount(own, weights=self._is(("?",)), minlength=own[-1] + 1 if own.size else 1)
        name, target = self.name, self.target
        return [
            *_buckets(np.abs(sentence[name] - sentence[target]), 2),
            *_buckets(np.abs(clause[name] - clause[target]), 3),
            *_buckets(np.abs(_counted_before(line)[name] - _counted_before(line)[target]), 1),
            asks[own[target]] > 0,
            asks[own[name]] > 0,
        ]

    def _lists(self) -> list[Flags]:
        """Which places of which lists the two have: "Ada, Bo: cart, email" pairs in order."""
        kind = self.tokens["kind"]
        people = (kind == Kind.TEAMMATE) | (kind == Kind.AUTHOR) | self._self
        place, length, begin, end = self._listed(people)
        place2, length2, begin2, end2 = self._listed((kind == Kind.SERVICE) | (kind == Kind.CHANGE))
        name, target = self.name, self.target
        at, of = place[name], length[name]
        at2, of2 = place2[target], length2[target]
        alike = np.select(
            [
                (of == 1) & (of2 == 1),
                (of == of2) & (at == at2),
                of == of2,
                of2 == 1,
                of == 1,
                at == at2,
            ],
            [0, 1, 2, 3, 4, 5],
            6,
        )
        apart = np.where(self.forward, begin2[target] - end[name], begin[name] - end2[target])
        return [*_buckets(alike, 6), *_buckets(np.maximum(apart, 0), 6)]

    def _listed(self, what: Flags) -> tuple[Ints, Ints, Ints, Ints]:
        """Place in its list, length, first and last token of the list, for each such token."""
        at = np.flatnonzero(what)
        size = len(what)
        place, length, begin, end = (np.zeros(size, dtype=np.int64) for _ in range(4))
        if not at.size:
            return place, length, begin, end
        separators = np.concatenate([[0], np.cumsum(self._is(_SEPARATORS))])
        gap = np.diff(at) - 1
        joined = (
            (gap <= 2)
            & (separators[at[1:]] - separators[at[:-1] + 1] == gap)
            & (np.diff(self.tokens.post[at]) == 0)
        )
        group = np.concatenate([[0], np.cumsum(~joined)])
        first = np.flatnonzero(np.concatenate([[True], ~joined]))
        sizes = np.diff(np.concatenate([first, [len(at)]]))
        place[at] = np.arange(len(at)) - first[group]
        length[at] = sizes[group]
        begin[at] = at[first[group]]
        end[at] = at[(first + sizes - 1)[group]]
        return place, length, begin, end

    def _neighbours(self) -> list[Flags]:
        """Whether each is the nearest of its sort to the other."""
        name, target = self.name, self.target
        far = 1 << 30

        def nearest(places: Ints, of: Ints) -> tuple[Ints, Ints]:
            """Distance to the next and to the last place in the post of `of`."""
            first, count = _of_post(places, self.tokens, of)
            padded = np.concatenate([places, [0]])
            at = np.searchsorted(places, of)
            after = np.where(at < first + count, padded[np.minimum(at, len(places))] - of, far)
            before = np.where(at > first, of - padded[np.maximum(at - 1, 0)], far)
            return after, before

        after, before = nearest(self.targets, name)
        forward, distance = self.forward, self.high - self.low
        mine = np.where(forward, after, before) == distance
        nearest_target = mine & np.where(forward, after < before, before <= after)
        after2, before2 = nearest(self.names, target)
        mine2 = np.where(forward, before2, after2) == distance
        nearest_name = mine2 & np.where(forward, before2 <= after2, after2 < before2)
        return [nearest_target, nearest_name, mine & forward, mine & ~forward]

    def shapes(self) -> Ints:
        """One number for the pairs of a post with the same few tokens between them."""
        kind, word = self.tokens["kind"], self.tokens["word"]
        gap = self.high - self.low - 1
        mixed = (self.tokens.post[self.name] * 2 + self.forward).astype(np.uint64)
        for nth in range(1, _LONGEST_SHAPE + 1):
            at = np.minimum(self.low + nth, len(kind) - 1)
            seen = np.where(kind[at] > 0, -kind[at], word[at])
            seen = np.where(nth <= gap, seen, -99)
            mixed = (mixed * np.uint64(0x9E3779B97F4A7C15)) ^ seen.astype(np.uint64)
            mixed ^= mixed >> np.uint64(29)
        far = gap > _LONGEST_SHAPE  # each of its own shape
        mixed[far] = np.arange(len(gap), dtype=np.uint64)[far]
        _, same = np.unique(mixed, return_inverse=True)
        return same.astype(np.int64)

    def _mentions(self) -> list[Flags]:
        """First and last mentions, later mentions of the same, how many there are."""
        name, target = self.name, self.target
        first_name, names = _of_post(self.names, self.tokens, name)
        first_target, targets = _of_post(self.targets, self.tokens, target)
        return [
            self._last(self.names)[name] > self.high,
            self._last(self.targets)[target] > self.high,
            name == self.names[first_name],
            name == self.names[first_name + names - 1],
            target == self.targets[first_target],
            target == self.targets[first_target + targets - 1],
            *_buckets(self._different(self.names)[self.tokens.post[name]] - 1, 3),
            *_buckets(targets - 1, 3),
        ]

    def _same(self, places: Ints) -> Ints:
        """One number for all mentions of the same thing in the same post."""
        tokens = self.tokens
        same: Ints = (tokens.post[places] * 8 + tokens["kind"][places]) * 256 + tokens["ref"][
            places
        ]
        return same

    def _last(self, places: Ints) -> Ints:
        """For each token of `places`, the last mention of the same."""
        last = np.zeros(len(self.tokens.post), dtype=np.int64)
        _, same = np.unique(self._same(places), return_inverse=True)
        latest = np.zeros(same.max() + 1 if same.size else 0, dtype=np.int64)
        np.maximum.at(latest, same, places)
        last[places] = latest[same]
        return last

    def _different(self, places: Ints) -> Ints:
        """How many different things each post mentions there."""
        posts = np.unique(self._same(places)) // (_KINDS * MOST_REFS)
        return np.bincount(posts, minlength=len(self.tokens.start) - 1)


def _counted_before(what: Flags) -> Ints:
    """How many tokens before each are so, over the whole batch."""
    counted: Ints = np.cumsum(what) - what
    return counted


def _buckets(values: Ints, most: int) -> list[Flags]:
    """One column for each of 0 .. `most`, the last for all that is more."""
    values = np.minimum(values, most)
    return [values == k for k in range(most + 1)]
