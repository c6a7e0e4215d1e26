"""The network, in numpy: reads a post both ways and scores its pairs.

A gated recurrent unit runs over the tokens from the left, another from the right (Cho et al. 2014,
doi 10.3115/v1/D14-1179, in the form of Keras and PyTorch: the reset gate acts on the product). A
pair is judged from what both know at its two mentions, their means from the one mention to the
other and over the post, and the pair's description (`pairs`). Then pairs hear of each other: what
the entries of one list have in common, what else the same mention of a teammate or target may be
part of. A teammate and target mentioned several times have the score of their best pair.

Posts of similar length go through together, so the time is in a few matrix products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classifiers.learned.pairs import Pairs, Tokens
from classifiers.learned.tokens import NO_REF

Floats = NDArray[np.float32]

FLAGS = 13
"""Columns of `flags_of`."""


def flags_of(tokens: Tokens, at: NDArray[np.int64] | slice = slice(None)) -> Floats:
    """What the network is told of the tokens `at` beside their words; (tokens, FLAGS)."""
    kind, form, ending = tokens["kind"][at], tokens["form"][at], tokens["ending"][at]
    columns = [kind == k for k in range(6)]
    columns += [form > 0, ending == 1, ending > 1]
    columns += [tokens[flag][at] > 0 for flag in ("capital", "capitals", "space", "at")]
    return np.stack(columns, axis=1).astype(np.float32)


class Network:
    """Scores pairs.

    Parameters
    ----------
    arrays : mapping
        ``words`` (vocabulary, width), ``flags`` (FLAGS, width), ``enter`` (width,): first layer;
        ``forward.x``, ``.xb``, ``.h``, ``.hb`` and the same for ``backward``: the two units;
        ``1.w``, ``1.b``, ``2.w``, ``2.b``, ``3.w``, ``3.b``: the layers of the score.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._arrays = {name: np.asarray(a, dtype=np.float32) for name, a in arrays.items()}
        self.size = self._arrays["forward.h"].shape[0]
        self._units = _units(self._arrays, self.size)

    def scores(self, tokens: Tokens, pairs: Pairs) -> Floats:
        """Logits of the pairs; (pairs,).

        A product with a part of a layer's weights is made once for every mention, list or post that
        pairs share, not for every pair.
        """
        given, size = self._arrays, 2 * self.size
        read = self._read(tokens)
        to_name, to_target, to_within, to_whole, to_features = np.split(
            given["1.w"], [size, 2 * size, 3 * size, 4 * size]
        )
        names, name = np.unique(pairs.name, return_inverse=True)
        targets, target = np.unique(pairs.target, return_inverse=True)
        low, high = np.minimum(pairs.name, pairs.target), np.maximum(pairs.name, pairs.target)
        first, last = tokens.start[:-1], tokens.start[1:] - 1
        seen: Floats = read.mean(low, high) @ to_within
        seen += pairs.features @ to_features
        seen += (read.at(names) @ to_name)[name]
        seen += (read.at(targets) @ to_target)[target]
        seen += (read.mean(first, last) @ to_whole + given["1.b"])[pairs.post]
        np.maximum(seen, 0.0, out=seen)
        to_own, to_alike, to_name, to_target = np.split(given["2.w"], 4)
        alike = _reduced(np.add, seen, pairs.shape)
        alike /= np.bincount(pairs.shape).astype(np.float32)[:, None]
        heard: Floats = seen @ to_own + given["2.b"]
        heard += (alike @ to_alike)[pairs.shape]
        heard += (_reduced(np.maximum, seen, name) @ to_name)[name]
        heard += (_reduced(np.maximum, seen, target) @ to_target)[target]
        np.maximum(heard, 0.0, out=heard)
        scored: Floats = (heard @ given["3.w"] + given["3.b"])[:, 0]
        return scored

    def _read(self, tokens: Tokens) -> _Read:
        """What both units know at every token.

        Posts are taken longest first, and step by step: all first tokens, all second ones, ...; the
        second unit takes each post's last token first.
        """
        taken, spelling = self._taken(tokens)
        lengths = np.diff(tokens.start)
        order = np.argsort(-lengths, kind="stable")
        longest = int(lengths[order[0]]) if len(order) else 0
        running = np.searchsorted(-lengths[order], -np.arange(1, longest + 1), side="right")
        step = np.repeat(np.arange(longest), running)
        rank = np.arange(len(step)) - np.repeat(np.cumsum(running) - running, running)
        begin, end = tokens.start[:-1][order], tokens.start[1:][order] - 1
        places = np.stack([begin[rank] + step, end[rank] - step])
        taken = np.stack([taken[k, spelling[places[k]]] for k in (0, 1)])
        _, weights, bias = self._units
        states, sums = np.empty((2, 2, len(step), self.size), dtype=np.float32)
        state = np.zeros((2, int(running[0]) if longest else 0, self.size), dtype=np.float32)
        total = np.zeros_like(state)
        done, size = 0, self.size
        for many in running.tolist():
            x = taken[:, done : done + many]
            state = state[:, :many]
            h = state @ weights
            h += bias
            gates = x[..., : 2 * size] + h[..., : 2 * size]
            np.tanh(gates, out=gates)
            gates += 1.0
            fresh = h[..., 2 * size :]
            fresh *= gates[..., :size]
            fresh += x[..., 2 * size :]
            np.tanh(fresh, out=fresh)
            state = state - fresh
            state *= gates[..., size:]
            state *= 0.5
            state += fresh
            total = total[:, :many] + state
            states[:, done : done + many] = state
            sums[:, done : done + many] = total
            done += many
        where = np.empty_like(places)
        np.put_along_axis(where, places, np.arange(len(step))[None], axis=1)
        return _Read(states, sums, where)

    def _taken(self, tokens: Tokens) -> tuple[Floats, NDArray[np.int64]]:
        """What the units are given of each spelling, (2, spellings, 3 size), and every token's.

        Most tokens of a batch are the same few: what they refer to makes no difference here.
        """
        given = self._arrays
        _, first, spelling = np.unique(
            tokens.packed & NO_REF, return_index=True, return_inverse=True
        )
        entered: Floats = flags_of(tokens, first) @ given["flags"]
        entered += given["words"][tokens["word"][first]]
        entered += given["enter"]
        np.maximum(entered, 0.0, out=entered)
        weights, _, _ = self._units
        taken: Floats = entered @ weights[:, :-1]
        taken += weights[:, -1:]
        return taken, spelling


@dataclass(frozen=True, slots=True)
class _Read:
    """States of both units.

    Attributes
    ----------
    states, sums : (2, tokens, size)
        In the order of reading; sums are from the unit's first token of the post on.
    where : (2, tokens)
        At which place of that order each token is.
    """

    states: Floats
    sums: Floats
    where: NDArray[np.int64]

    def at(self, tokens: NDArray[np.int64]) -> Floats:
        """States at tokens; (tokens, 2 size)."""
        ahead, back = self.where[:, tokens]
        return np.concatenate([self.states[0, ahead], self.states[1, back]], axis=1)

    def mean(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Floats:
        """Mean states from `first` to `last`, which belong to the same post; (pairs, 2 size)."""
        parts = []
        for where, sums, states, ends in zip(
            self.where, self.sums, self.states, ((first, last), (last, first)), strict=True
        ):
            begin, end = where[ends[0]], where[ends[1]]
            part = sums[end] - sums[begin]
            part += states[begin]
            parts.append(part)
        means: Floats = np.concatenate(parts, axis=1)
        means /= (last - first + 1).astype(np.float32)[:, None]
        return means


def _units(arrays: Mapping[str, Floats], size: int) -> tuple[Floats, Floats, Floats]:
    """Weights of both units for one product: of what is given, with a row of biases, and of states.

    A logistic gate is (1 + tanh(x / 2)) / 2; the halves are taken into the weights here.
    """
    both = ("forward", "backward")
    x = np.stack([np.vstack([arrays[f"{u}.x"], arrays[f"{u}.xb"]]) for u in both])
    h = np.stack([arrays[f"{u}.h"] for u in both])
    bias = np.stack([arrays[f"{u}.hb"][None] for u in both])
    x[..., : 2 * size] *= 0.5
    h *= 0.5  # the last third for the half of the reset gate that it is multiplied with
    bias *= 0.5
    return x, h, bias


def _reduced(reduce: np.ufunc, seen: Floats, group: NDArray[np.int64]) -> Floats:
    """The rows of every group reduced to one; groups are numbered from 0 without gaps.

    All second rows are taken to the first ones at once, then all third ones: groups are small, and
    `ufunc.reduceat` is slow on rows.
    """
    size = np.bincount(group)
    order = np.argsort(group, kind="stable")
    first = np.cumsum(size) - size
    reduced: Floats = seen[order[first]]
    largest = np.argsort(-size, kind="stable")
    running = np.searchsorted(-size[largest], -np.arange(2, size.max(initial=0) + 1), side="right")
    for nth, many in enumerate(running.tolist(), 1):
        at = largest[:many]
        reduced[at] = reduce(reduced[at], seen[order[first[at] + nth]])
    return reduced
