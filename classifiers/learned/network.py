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

import numpy as np
from numpy.typing import NDArray

from classifiers.learned.pairs import Pairs, Tokens

Floats = NDArray[np.float32]

FLAGS = 13
"""Columns of `flags_of`."""


def flags_of(tokens: Tokens) -> Floats:
    """What the network is told of each token beside its word; (tokens, FLAGS)."""
    kind, form, ending = tokens["kind"], tokens["form"], tokens["ending"]
    columns = [kind == k for k in range(6)]
    columns += [form > 0, ending == 1, ending > 1]
    columns += [tokens[flag] > 0 for flag in ("capital", "capitals", "space", "at")]
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

    def scores(self, tokens: Tokens, pairs: Pairs) -> Floats:
        """Logits of the pairs; (pairs,).

        A product with a part of a layer's weights is made once for every mention, list or post that
        pairs share, not for every pair.
        """
        given, size = self._arrays, 2 * self.size
        read, summed = self._read(tokens)
        to_name, to_target, to_within, to_whole, to_features = np.split(
            given["1.w"], [size, 2 * size, 3 * size, 4 * size]
        )
        names, name = np.unique(pairs.name, return_inverse=True)
        targets, target = np.unique(pairs.target, return_inverse=True)
        low, high = np.minimum(pairs.name, pairs.target), np.maximum(pairs.name, pairs.target)
        half = self.size
        within = np.empty((len(low), size), dtype=np.float32)
        within[:, :half] = summed[high, :half] - summed[low, :half] + read[low, :half]
        within[:, half:] = summed[low, half:] - summed[high, half:] + read[high, half:]
        within /= (high - low + 1).astype(np.float32)[:, None]
        first, last = tokens.start[:-1], tokens.start[1:] - 1
        whole = np.concatenate([summed[last, :half], summed[first, half:]], axis=1)
        whole /= np.diff(tokens.start).astype(np.float32)[:, None]
        seen = within @ to_within
        seen += pairs.features @ to_features
        seen += (read[names] @ to_name)[name]
        seen += (read[targets] @ to_target)[target]
        seen += (whole @ to_whole + given["1.b"])[pairs.post]
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

    def _read(self, tokens: Tokens) -> tuple[Floats, Floats]:
        """What both units know at every token, and its sum so far; each (tokens, 2 size).

        "So far" is from the first token for the one unit, from the last for the other.
        """
        given = self._arrays
        entered = flags_of(tokens) @ given["flags"]
        entered += given["words"][tokens["word"]]
        entered += given["enter"]
        np.maximum(entered, 0.0, out=entered)
        read, summed = np.empty((2, len(entered), 2 * self.size), dtype=np.float32)
        lengths = np.diff(tokens.start)
        order = np.argsort(-lengths, kind="stable")
        longest = int(lengths[order[0]]) if len(order) else 0
        running = np.searchsorted(-lengths[order], -np.arange(1, longest + 1), side="right")
        step = np.repeat(np.arange(longest), running)
        rank = np.arange(len(step)) - np.repeat(np.cumsum(running) - running, running)
        begin, end = tokens.start[:-1][order], tokens.start[1:][order] - 1
        # Tokens in the order in which a unit takes them: all first ones, all second ones, ...
        for unit, at, column in (
            ("forward", begin[rank] + step, 0),
            ("backward", end[rank] - step, self.size),
        ):
            columns = slice(column, column + self.size)
            read[at, columns], summed[at, columns] = self._unit(unit, entered[at], running)
        return read, summed

    def _unit(
        self, which: str, entered: Floats, running: NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """States of one unit and their sums; at each step the first `running` posts go on."""
        given, size = self._arrays, self.size
        taken = entered @ given[f"{which}.x"]
        taken += given[f"{which}.xb"]
        weights, bias = given[f"{which}.h"], given[f"{which}.hb"]
        out, sums = np.empty((2, len(entered), size), dtype=np.float32)
        state = np.zeros((int(running[0]) if len(running) else 0, size), dtype=np.float32)
        total = np.zeros_like(state)
        done = 0
        for many in running.tolist():
            x = taken[done : done + many]
            state = state[:many]
            h = state @ weights
            h += bias
            gates = x[:, : 2 * size] + h[:, : 2 * size]
            gates *= 0.5
            np.tanh(gates, out=gates)
            gates *= 0.5
            gates += 0.5
            fresh = h[:, 2 * size :]
            fresh *= gates[:, :size]
            fresh += x[:, 2 * size :]
            np.tanh(fresh, out=fresh)
            state = state - fresh
            state *= gates[:, size:]
            state += fresh
            out[done : done + many] = state
            total = np.add(total[:many], state, out=sums[done : done + many])
            done += many
        return out, sums


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
