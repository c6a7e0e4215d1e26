"""Trains the network: ``python -m classifiers.learned.train`` (needs the extra ``train``).

Only posts of the split "train" teach; the split "dev" calibrates the probabilities.
The same corpus, seed and machine give the same bytes.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray
from scipy.optimize import minimize

from classifiers.evaluate import Labelled, read_labelled
from classifiers.learned import MODEL
from classifiers.learned.artefact import save
from classifiers.learned.dataset import (
    Batch,
    Post,
    Triple,
    batches_of,
    changed,
    posts_of,
    vocabulary_from,
)
from classifiers.learned.network import FLAGS
from classifiers.learned.tokens import SPECIAL, Vocabulary
from classifiers.learned.unwritten import Unwritten, load_taught
from classifiers.learned.words import Reader

CORPORA = Path(__file__).parents[1] / "corpora"
TAUGHT = "taught.npz"
Weights = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How it is trained."""

    seed: int = 0
    rounds: int = 12
    size: int = 96  # of each unit
    width: int = 96  # of the first layer
    layers: tuple[int, int] = (160, 64)
    dropout: float = 0.25
    hidden: float = 0.05
    rate: float = 2.5e-3
    decay: float = 1e-4
    sizes: tuple[int, int] = (128, 1600)
    average: float = 0.998
    taught: int = 150_000  # posts that a teacher labels
    share: float = 1.0  # of them in a round, for every labelled post


def initial(recipe: Recipe, vectors: NDArray[np.float32], features: int) -> Weights:
    """Weights before training; `vectors` are (vocabulary, 100), zero where there is none."""
    rng = np.random.default_rng(recipe.seed)

    def layer(rows: int, columns: int) -> NDArray[np.float32]:
        return (rng.normal(size=(rows, columns)) / math.sqrt(rows)).astype(np.float32)

    width, size = recipe.width, recipe.size
    one, two = recipe.layers
    known = np.abs(vectors).sum(1, keepdims=True) > 0
    own = np.where(known, 0.0, rng.normal(size=(len(vectors), width)) * 0.2)
    weights: Weights = {
        "project": layer(vectors.shape[1], width) * 2,
        "own": own.astype(np.float32),
        "flags": layer(FLAGS, width),
        "enter": np.zeros(width, np.float32),
        "1.w": layer(8 * size + features, one),
        "1.b": np.zeros(one, np.float32),
        "2.w": layer(4 * one, two),
        "2.b": np.zeros(two, np.float32),
        "3.w": layer(two, 1),
        "3.b": np.zeros(1, np.float32),
    }
    for unit in ("forward", "backward"):
        weights |= {
            f"{unit}.x": layer(width, 3 * size),
            f"{unit}.xb": np.zeros(3 * size, np.float32),
            f"{unit}.h": layer(size, 3 * size),
            f"{unit}.hb": np.zeros(3 * size, np.float32),
        }
    return {name: jnp.asarray(array) for name, array in weights.items()}


def _unit(w: Weights, which: str, x: jax.Array, there: jax.Array, *, reverse: bool) -> jax.Array:
    size = w[f"{which}.h"].shape[0]
    taken = x @ w[f"{which}.x"] + w[f"{which}.xb"]

    def step(state: jax.Array, given: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        x, on = given
        h = state @ w[f"{which}.h"] + w[f"{which}.hb"]
        gates = jax.nn.sigmoid(x[:, : 2 * size] + h[:, : 2 * size])
        fresh = jnp.tanh(x[:, 2 * size :] + gates[:, :size] * h[:, 2 * size :])
        new = fresh + gates[:, size:] * (state - fresh)
        state = jnp.where(on[:, None] > 0, new, state)
        return state, state

    begin = jnp.zeros((x.shape[0], size))
    _, out = jax.lax.scan(step, begin, (taken.transpose(1, 0, 2), there.T), reverse=reverse)
    return out.transpose(1, 0, 2)


def _dropped(x: jax.Array, key: jax.Array | None, share: float) -> jax.Array:
    if key is None:
        return x
    kept = jax.random.bits(key, x.shape, jnp.uint8) >= round(256 * share)  # a byte each: cheap
    return jnp.where(kept, x / (1 - share), 0.0)


def logits(
    w: Weights, vectors: jax.Array, b: tuple[jax.Array, ...], key: jax.Array | None, share: float
) -> jax.Array:
    """Scores of the candidates of a batch; the same sums as `network.Network.scores`."""
    words, flags, there, post, name, target, groups, features, candidate = b[:9]
    keys = [None] * 4 if key is None else list(jax.random.split(key, 4))
    x = vectors[words] @ w["project"] + w["own"][words]
    x = jax.nn.relu(_dropped(x, keys[0], share) + flags @ w["flags"] + w["enter"])
    read = jnp.concatenate(
        [
            _unit(w, "forward", x, there, reverse=False),
            _unit(w, "backward", x, there, reverse=True),
        ],
        axis=-1,
    )
    read = _dropped(read, keys[1], share)
    summed = jnp.pad(jnp.cumsum(read, axis=1), ((0, 0), (1, 0), (0, 0)))
    low, high = jnp.minimum(name, target), jnp.maximum(name, target) + 1
    within = (summed[post, high] - summed[post, low]) / (high - low)[:, None]
    whole = (read * there[:, :, None]).sum(1) / jnp.maximum(there.sum(1), 1)[:, None]
    seen = jnp.concatenate(
        [read[post, name], read[post, target], within, whole[post], features], -1
    )
    seen = _dropped(seen, keys[2], share)
    seen = jax.nn.relu(seen @ w["1.w"] + w["1.b"])
    segments = len(name) + 1
    many = jax.ops.segment_sum(jnp.ones(len(name)), groups[0], segments)
    alike = jax.ops.segment_sum(seen, groups[0], segments) / jnp.maximum(many, 1)[:, None]
    rivals = [jax.ops.segment_max(seen, groups[k], segments)[groups[k]] for k in (1, 2)]
    seen = jnp.concatenate([seen, alike[groups[0]], *rivals], axis=-1)
    seen = jax.nn.relu(_dropped(seen, keys[3], share) @ w["2.w"] + w["2.b"])
    scored = (seen @ w["3.w"] + w["3.b"])[:, 0]
    best = jax.ops.segment_max(scored, candidate, len(name) + 1)
    return jnp.where(jnp.isfinite(best), best, 0.0)


class Training:
    """One training: `fit`, then `arrays` for `network.Network`."""

    def __init__(
        self, recipe: Recipe, vocabulary: Vocabulary, vectors: NDArray[np.float32]
    ) -> None:
        self.recipe = recipe
        self.vocabulary = vocabulary
        self.reader = Reader(vocabulary)
        self.vectors = jnp.asarray(vectors)
        self._compiled = jax.jit(lambda w, b: logits(w, self.vectors, b, None, 0.0))

    def fit(self, posts: Sequence[Post], taught: Sequence[Post] = (), after: Any = None) -> Weights:
        """Learn from labelled posts, and in every round from others of those a teacher labelled.

        Parameters
        ----------
        after : callable, optional
            Called after each round with its number, from 0, and the mean weights so far.
        """
        recipe = self.recipe
        rng = np.random.default_rng(recipe.seed)
        first = next(iter(self._batches(posts[:4], None)))[0]
        w = initial(recipe, np.asarray(self.vectors), first.features.shape[1])
        beside = min(len(taught), int(recipe.share * len(posts)))

        def mixed() -> list[Post]:
            drawn = rng.permutation(len(taught))[:beside].tolist()
            return [changed(p, self.reader, rng) for p in posts] + [taught[n] for n in drawn]

        steps = recipe.rounds * sum(1 for _ in self._batches(mixed(), None))
        optimizer = optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.adamw(
                optax.cosine_decay_schedule(recipe.rate, int(steps * 1.05)),
                weight_decay=recipe.decay,
            ),
        )
        state = optimizer.init(w)

        def loss(w: Weights, b: tuple[jax.Array, ...], key: jax.Array) -> jax.Array:
            scored = logits(w, self.vectors, b, key, recipe.dropout)
            each = optax.sigmoid_binary_cross_entropy(scored, b[9]) * b[10]
            return each.sum() / b[10].sum()

        def update(
            w: Weights, mean: Weights, state: Any, b: tuple[jax.Array, ...], key: jax.Array
        ) -> tuple[Weights, Weights, Any, jax.Array]:
            value, slope = jax.value_and_grad(loss)(w, b, key)
            slope["own"] = slope["own"] * 0.5
            updates, state = optimizer.update(slope, state, w)
            w = optax.apply_updates(w, updates)
            share = recipe.average
            mean = jax.tree.map(lambda a, b: share * a + (1 - share) * b, mean, w)
            return w, mean, state, value

        step = jax.jit(update, donate_argnums=(0, 1, 2))
        mean: Weights = jax.tree.map(jnp.array, w)
        key = jax.random.PRNGKey(recipe.seed)
        begun = time.monotonic()
        for number in range(recipe.rounds):
            values = []
            for batch, _ in self._batches(mixed(), rng):
                key, use = jax.random.split(key)
                w, mean, state, value = step(w, mean, state, astuple(batch), use)
                values.append(value)
            if number == 0:
                mean = jax.tree.map(jnp.array, w)
            took = time.monotonic() - begun
            _say(f"round {number + 1}: loss {np.mean(np.array(values)):.4f}, {took:.0f} s")
            if after is not None:
                after(number, mean)
        return mean

    def _batches(
        self, posts: Sequence[Post], rng: np.random.Generator | None
    ) -> Iterator[tuple[Batch, list[tuple[int, Triple]]]]:
        recipe = self.recipe
        return batches_of(posts, self.vocabulary, sizes=recipe.sizes, rng=rng, hidden=recipe.hidden)

    def predict(self, w: Weights, posts: Sequence[Post]) -> list[dict[Triple, float]]:
        """Logit of every candidate of every post."""
        found: list[dict[Triple, float]] = [{} for _ in posts]
        for batch, candidates in self._batches(posts, None):
            scored = np.asarray(self._compiled(w, astuple(batch)))
            for (post, triple), value in zip(candidates, scored[: len(candidates)], strict=True):
                found[post][triple] = float(value)
        return found

    def arrays(self, w: Weights) -> dict[str, NDArray[np.generic]]:
        """The weights as `network.Network` takes them."""
        out = {name: np.asarray(a) for name, a in w.items() if name not in ("project", "own")}
        out["words"] = np.asarray(self.vectors) @ np.asarray(w["project"]) + np.asarray(w["own"])
        return out


def load_vectors(path: Path) -> tuple[list[str], NDArray[np.float32], int]:
    """Words, their vectors (words, 100), and how many of the first are common."""
    with np.load(path) as held:
        words = str(held["words"]).split("\n")
        vectors = held["vectors"].astype(np.float32) * held["scales"][:, None]
        return words, vectors, int(held["common"])


def prepared(
    train: Sequence[Labelled], vectors_path: Path
) -> tuple[Vocabulary, NDArray[np.float32]]:
    """The vocabulary and its vectors, scaled to be of order one."""
    words, vectors, common = load_vectors(vectors_path)
    vocabulary = vocabulary_from([item.post for item in train], words, common)
    table = np.zeros((len(vocabulary), vectors.shape[1]), np.float32)
    table[len(SPECIAL) : len(SPECIAL) + len(words)] = vectors / vectors.std() * 0.3
    return vocabulary, table


def calibration_of(
    predicted: Sequence[Mapping[Triple, float]], posts: Sequence[Post]
) -> tuple[float, float]:
    """Shift and temperature that make the labels of `posts` most likely.

    A logit is shifted, then divided by the temperature (Platt 1999, "Probabilistic outputs for
    support vector machines"). The shift is there because the hunted posts that teach hold more
    orders in the shape of reports than others do.
    """
    pairs = [
        (logit, triple in post.likely)
        for found, post in zip(predicted, posts, strict=True)
        for triple, logit in found.items()
    ]
    logits = np.array([logit for logit, _ in pairs])
    signs = np.where([true for _, true in pairs], 1.0, -1.0)

    def loss(at: NDArray[np.float64]) -> float:
        return float(np.logaddexp(0.0, -signs * (logits + at[0]) / np.exp(at[1])).mean())

    shift, log_temperature = minimize(loss, np.zeros(2), method="Nelder-Mead").x
    return float(shift), math.exp(log_temperature)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main() -> None:
    """Train, calibrate, write the artefact."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", type=Path, default=CORPORA, help="folder of the corpus")
    parser.add_argument("--out", type=Path, default=MODEL, help="file to write")
    parser.add_argument("--rounds", type=int, default=Recipe().rounds, help="through the corpus")
    parser.add_argument("--seed", type=int, default=Recipe().seed)
    parser.add_argument(
        "--taught",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=f"learn from a teacher's answers too, if there are any (CORPORA/{TAUGHT})",
    )
    given = parser.parse_args()
    read = {
        split: read_labelled(
            given.corpora / "posts.jsonl", rooms=given.corpora / "rooms.jsonl", split=split
        )
        for split in ("train", "dev")
    }
    vocabulary, vectors = prepared(read["train"], given.corpora / "vectors.npz")
    reader = Reader(vocabulary)
    train, dev = (posts_of(reader, read[split]) for split in ("train", "dev"))
    training = Training(Recipe(rounds=given.rounds, seed=given.seed), vocabulary, vectors)
    answers = given.corpora / TAUGHT
    taught = (
        load_taught(answers, Unwritten(train, vocabulary))
        if given.taught and answers.exists()
        else []
    )
    weights = training.fit(train, taught)
    shift, temperature = calibration_of(training.predict(weights, dev), dev)
    weights["3.b"] = weights["3.b"] + shift
    save(given.out, training.arrays(weights), vocabulary, temperature)
    _say(
        f"{given.out}: {len(train)} posts, {len(taught)} taught; shift {shift:.2f}, "
        f"temperature {temperature:.2f}"
    )


if __name__ == "__main__":
    main()
