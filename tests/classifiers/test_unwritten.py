"""Posts that nobody wrote, and a teacher's answers to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from classifiers.evaluate import read_labelled
from classifiers.learned.dataset import Post, posts_of
from classifiers.learned.pairs import pairs_of, tokens_of
from classifiers.learned.tokens import KIND_BITS, PARTS, Kind, part_of
from classifiers.learned.unwritten import (
    LONGEST,
    Unwritten,
    candidates_of,
    load_taught,
    save_taught,
)
from classifiers.learned.words import Reader
from swarm.errors import UsageError

CORPUS = Path(__file__).parents[2] / "classifiers" / "corpora"
WORD = PARTS["word"][0]


@pytest.fixture(scope="module")
def written(reader: Reader) -> list[Post]:
    labelled = read_labelled(CORPUS / "posts.jsonl", rooms=CORPUS / "rooms.jsonl", split="train")
    return posts_of(reader, labelled[:800])


@pytest.fixture(scope="module")
def source(written: list[Post], reader: Reader) -> Unwritten:
    return Unwritten(written, reader.vocabulary)


@pytest.fixture(scope="module")
def made(source: Unwritten) -> list[Post]:
    return source.make(600, np.random.default_rng(3))


def test_the_same_seed_makes_the_same_posts(source: Unwritten, made: list[Post]) -> None:
    assert source.make(600, np.random.default_rng(3)) == made
    assert source.make(600, np.random.default_rng(4)) != made


def test_every_post_holds_a_pair_and_no_label(made: list[Post]) -> None:
    for post in made:
        assert candidates_of(post)
        assert len(post.tokens) <= LONGEST
        assert not post.likely


def test_most_are_posts_that_nobody_wrote(written: list[Post], made: list[Post]) -> None:
    known = {tuple(post.tokens) for post in written}
    assert np.mean([tuple(post.tokens) in known for post in made]) < 0.05


def test_words_stand_where_posts_have_them(source: Unwritten, written: list[Post]) -> None:
    """A word is put in only between two neighbours that have it between them in some post."""

    def bare(token: int) -> int:
        return token & KIND_BITS | token >> WORD << WORD

    seen = set()
    for post in written:
        kept = [-1, *map(bare, post.tokens), -2]
        seen |= set(zip(kept, kept[1:], kept[2:], strict=False))
    rng = np.random.default_rng(0)
    put = 0
    for post in written:
        tokens = list(post.tokens)
        source._insert(tokens, rng)
        if len(tokens) == len(post.tokens):
            continue
        put += 1
        kept = [-1, *map(bare, tokens), -2]
        changed = [
            at
            for at in range(1, len(kept) - 1)
            if kept[1:at] + kept[at + 1 : -1] == [bare(token) for token in post.tokens]
        ]
        assert any((kept[at - 1], kept[at], kept[at + 1]) in seen for at in changed)
    assert put > 400


def test_joined_posts_keep_who_is_who(source: Unwritten, written: list[Post]) -> None:
    """What is taken from the other post speaks of others, the same ones at every mention."""
    from classifiers.learned.unwritten import _renamed

    rng = np.random.default_rng(1)
    for post in written[:200]:
        other = _renamed(post.tokens, rng)
        pairs = {
            (old & KIND_BITS, part_of(old, "ref"), part_of(new, "ref"))
            for old, new in zip(post.tokens, other, strict=True)
            if old & KIND_BITS in (Kind.TEAMMATE, Kind.SERVICE, Kind.CHANGE)
        }
        assert len({(kind, old) for kind, old, _ in pairs}) == len(pairs)
        assert len({(kind, new) for kind, _, new in pairs}) == len(pairs)


def test_candidates_are_those_of_the_network(made: list[Post], reader: Reader) -> None:
    tokens = tokens_of([post.tokens for post in made])
    pairs = pairs_of(tokens, np.ones(len(made), dtype=np.int64), reader.vocabulary)
    found: list[set[tuple[int, int, int]]] = [set() for _ in made]
    ref, kind = tokens["ref"], tokens["kind"]
    for post, name, target in zip(pairs.post, pairs.name, pairs.target, strict=True):
        found[post].add((int(ref[name]), int(kind[target]), int(ref[target])))
    assert [sorted(some) for some in found] == [candidates_of(post) for post in made]


def test_answers_come_back_with_their_posts(
    source: Unwritten, made: list[Post], tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    logits = [{c: float(rng.normal() * 6) for c in candidates_of(post)} for post in made]
    save_taught(tmp_path / "taught.npz", made, logits, seed=3)
    back = load_taught(tmp_path / "taught.npz", source)
    assert [(p.tokens, p.round) for p in back] == [(p.tokens, p.round) for p in made]
    for post, said in zip(back, logits, strict=True):
        likely = {c: 1 / (1 + np.exp(-np.clip(v, -127 / 16, 127 / 16))) for c, v in said.items()}
        assert post.likely == pytest.approx(likely, abs=0.01)


def test_answers_to_other_posts_are_refused(
    written: list[Post], made: list[Post], reader: Reader, tmp_path: Path
) -> None:
    path = tmp_path / "taught.npz"
    save_taught(path, made, [dict.fromkeys(candidates_of(post), 0.0) for post in made], seed=3)
    with pytest.raises(UsageError, match="another corpus"):
        load_taught(path, Unwritten(written[:700], reader.vocabulary))
