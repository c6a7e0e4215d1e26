"""A prompt is a list of blocks; taking one out leaves the others as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.prompt import Block, Prompt, block

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BLOCKS = st.lists(st.builds(block, st.sampled_from(["post", "note"]), TEXT), max_size=8)


def test_a_block_is_addressed_by_kind_and_text() -> None:
    assert block("post", "hi").id == block("post", "hi").id
    assert block("post", "hi").id != block("note", "hi").id
    assert block("post", "hi").id != block("post", "ho").id
    assert block("po", "st").id != block("p", "ost").id


def test_a_blocks_address_is_the_same_in_every_log() -> None:
    # Written down once: another value here means that no old log can be compared with a new one.
    assert block("post", "Bo: hi").id == 16488750976454349149


def test_a_blocks_address_fits_64_bits() -> None:
    ids = [block("post", str(i)).id for i in range(2000)]
    assert all(0 <= i < 2**64 for i in ids)
    assert len(set(ids)) == 2000
    assert max(ids) > 2**63


def test_a_block_of_any_text_can_be_stored() -> None:
    made = block("post", "half \ud83d of a pair")
    made.text.encode()
    assert made.text == "half \ufffd of a pair"
    assert isinstance(made.id, int)


def test_texts_are_the_blocks_joined_by_line_breaks() -> None:
    prompt = Prompt((block("a", "one"), block("b", "two\nthree")), (block("c", "four"),))
    assert prompt.texts == ("one\ntwo\nthree", "four")
    assert Prompt((), ()).texts == ("", "")


@given(BLOCKS, BLOCKS, st.data())
def test_without_takes_out_what_it_is_told_and_keeps_the_rest_in_order(
    system: list[Block], turn: list[Block], data: st.DataObject
) -> None:
    prompt = Prompt(tuple(system), tuple(turn))
    ids = [b.id for b in (*system, *turn)]
    removed = set(data.draw(st.lists(st.sampled_from(ids)))) if ids else set()
    left = prompt.without(removed)
    assert list(left.system) == [b for b in system if b.id not in removed]
    assert list(left.turn) == [b for b in turn if b.id not in removed]
    assert all((b in left) == (b not in removed) for b in ids)
    assert left.without(removed) == left


def test_without_leaves_the_original_as_it_was() -> None:
    post = block("post", "Bo: hi")
    prompt = Prompt((post,), (post, block("note", "mine")))
    assert prompt.without({post.id}) == Prompt((), (block("note", "mine"),))
    assert prompt.system == (post,)


def test_a_prompt_knows_which_blocks_it_holds() -> None:
    rule, post = block("rules", "r"), block("post", "p")
    prompt = Prompt((rule,), (post,))
    assert rule.id in prompt
    assert post.id in prompt
    assert block("post", "q").id not in prompt


def test_blocks_and_prompts_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        block("post", "p").text = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Prompt((), ()).turn = ()  # type: ignore[misc]
