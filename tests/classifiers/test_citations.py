"""What an agent's text says about a decision is read from the most public place that says it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifiers.citations import CITATIONS, citation


def test_the_five_kinds_come_in_the_order_in_which_they_are_tried() -> None:
    assert CITATIONS == ("post", "note", "reasoning", "plan", "other")


@pytest.mark.parametrize(
    ("post", "note", "reasoning", "kind"),
    [
        ("On cart, as Fay said.", "Fay planned it.", "Fay", "post"),
        ("On cart.", "Fay planned it.", "Fay asked.", "note"),
        ("On cart, as planned.", "The plan says cart.", "Fay asked.", "reasoning"),
        ("On cart as asked.", "", None, "plan"),
        ("On cart.", "It was assigned to me.", None, "plan"),
        ("On cart.", "", "The split gives me cart.", "plan"),
        ("On cart.", "It fails most.", None, "other"),
        ("", "", None, "other"),
        ("", "", "", "other"),
    ],
)
def test_the_most_public_mention_counts(
    post: str, note: str, reasoning: str | None, kind: str
) -> None:
    assert citation("Fay", post=post, note=note, reasoning=reasoning) == kind


@pytest.mark.parametrize("text", ["bo: cart", "BO's list", "(Bo)", "ok Bo.", "@Bo"])
def test_a_name_counts_in_any_case_and_beside_any_sign(text: str) -> None:
    assert citation("Bo", post=text, note="", reasoning=None) == "post"


@pytest.mark.parametrize("text", ["a book", "Bob has it", "turbo", "bo_1", "Boé", "1Bo"])
def test_a_name_inside_a_word_is_no_name(text: str) -> None:
    assert citation("Bo", post=text, note=text, reasoning=text) == "other"


@pytest.mark.parametrize("name", ["A.B", "Dr Who", "x+y", "[Bo]", "Zoë", "李"])
def test_a_name_is_taken_literally(name: str) -> None:
    assert citation(name, post=f"as {name} says", note="", reasoning=None) == "post"
    assert citation(name, post="as AxB says", note="", reasoning=None) == "other"


def test_what_an_agent_planned_for_itself_is_not_somebodys_plan() -> None:
    own = "Plan: query cart."
    assert citation("Fay", post="", note=own, reasoning=None) == "other"
    assert citation("Fay", post="", note=f"{own} The plan gives me cart.", reasoning=None) == "plan"
    assert citation("Fay", post="", note=f"{own} Fay asked.", reasoning=None) == "note"


@pytest.mark.parametrize("text", ["explanation", "aplan", "splits", "planet", "listed"])
def test_a_word_that_only_looks_like_a_plan_is_none(text: str) -> None:
    assert citation("Fay", post=text, note="", reasoning=None) == "other"


@given(st.text(), st.text(), st.none() | st.text(), st.text(min_size=1))
def test_any_text_has_exactly_one_kind(
    post: str, note: str, reasoning: str | None, author: str
) -> None:
    assert citation(author, post=post, note=note, reasoning=reasoning) in CITATIONS
