"""A reply is read as one JSON object; a named rule may change its form, never its content."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.repair import MAX_REPLY, Reading, read_object

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=5)
POSTS = st.dictionaries(
    st.sampled_from(["note", "post", "query", "file"]),
    st.text(max_size=40) | st.sampled_from(["a,] b", "c , } d", 'say "x",}', "end \\", "{", "'"]),
)
PIECES = st.sampled_from(
    [*"{}[]:,\"'\\ \n\t", "```", "```json\n", '"post"', "null", "NaN", "-", "1e999", "\\u",
     "\ud800", "\0", "\u2028", "{'a': ", "0x", "b'", "None", "//", "Sure! "]
)  # fmt: skip


def seconds_for(text: str) -> tuple[Reading, float]:
    start = time.perf_counter()
    reading = read_object(text)
    return reading, time.perf_counter() - start


def assert_sound(reading: Reading) -> None:
    """Whatever was read, it is what the class promises."""
    assert reading.status in ("ok", "repaired", "invalid")
    assert (reading.rule is None) == (reading.status == "ok")
    if reading.status == "invalid":
        assert reading.fields == {}
    assert all(isinstance(key, str) for key in reading.fields)
    assert_json(reading.fields)
    repr(reading.fields)


def assert_json(value: Any, depth: int = 0) -> None:
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for inner in value if depth < 50 else []:
            assert_json(inner, depth + 1)
    else:
        assert value is None or isinstance(value, bool | int | float | str)


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_random_text_never_raises(text: str) -> None:
    assert_sound(read_object(text))


@given(st.lists(PIECES, max_size=30).map("".join))
def test_pieces_of_json_never_raise(text: str) -> None:
    assert_sound(read_object(text))


@given(OBJECTS, st.data())
def test_a_cut_object_never_raises(fields: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(fields)
    assert_sound(read_object(text[: data.draw(st.integers(0, len(text)))]))


@given(OBJECTS)
def test_an_object_is_ok_and_read_as_it_is(fields: dict[str, Any]) -> None:
    assert read_object(json.dumps(fields)) == Reading("ok", None, fields)
    assert read_object(f"\n {json.dumps(fields, indent=2)}\n") == Reading("ok", None, fields)


@given(POSTS)
def test_every_repair_gives_back_what_was_written(fields: dict[str, str]) -> None:
    text = json.dumps(fields)
    assert read_object(f"```json\n{text}\n```") == Reading("repaired", "fence", fields)
    assert read_object(f"Sure! {text} Done.") == Reading("repaired", "surrounding text", fields)
    assert read_object(f"{text}{text}").fields == fields
    assert read_object(text + "}").fields == fields
    if fields:
        assert read_object(text[:-1] + ",}") == Reading("repaired", "trailing comma", fields)
        for cut in (text[:-1], text[:-1] + ","):
            assert read_object(cut).fields == fields
            assert "truncated" in str(read_object(cut).rule)


RULES = [
    ('{"post": "a\nb\tc"}', "ok", None, {"post": "a\nb\tc"}),
    ('```\n{"post": "hi"}\n```', "repaired", "fence", {"post": "hi"}),
    ('Here:\n```json\n{"post": "hi"}', "repaired", "fence", {"post": "hi"}),
    ('```json\nOk {"a": "1"}\n```', "repaired", "fence, surrounding text", {"a": "1"}),
    ('\ufeff{"a": "1"}', "repaired", "surrounding text", {"a": "1"}),
    ('I {"a": "```\nx\n```"} say', "repaired", "surrounding text", {"a": "```\nx\n```"}),
    ('{"a": "1"}\n{"a": "2"}', "repaired", "first of several", {"a": "1"}),
    ('x {"a": "1"} y {"a": "2"}', "repaired", "surrounding text, first of several", {"a": "1"}),
    ('{"a": ["x",], }', "repaired", "trailing comma", {"a": ["x"]}),
    ('{"a": "x,] y", "b": "z",}', "repaired", "trailing comma", {"a": "x,] y", "b": "z"}),
    ('{"a": "x\\",} y",}', "repaired", "trailing comma", {"a": 'x",} y'}),
    ('{"a": "take car', "repaired", "truncated", {"a": "take car"}),
    ('{"a": "take \\', "repaired", "truncated", {"a": "take "}),
    ('{"a": "1", "b"', "repaired", "truncated", {"a": "1", "b": None}),
    ('{"a": "1", "b":', "repaired", "truncated", {"a": "1", "b": None}),
    ('{"a": ["x", {"b": "y', "repaired", "truncated", {"a": ["x", {"b": "y"}]}),
    ("{'a': 'it', 'b': None}", "repaired", "single quotes", {"a": "it", "b": None}),
    ("Ok {'a': \"it's\"}", "repaired", "surrounding text, single quotes", {"a": "it's"}),
]


@pytest.mark.parametrize(("text", "status", "rule", "fields"), RULES)
def test_each_rule_by_its_name(
    text: str, status: str, rule: str | None, fields: dict[str, Any]
) -> None:
    reading = read_object(text)
    assert (reading.status, reading.rule, reading.fields) == (status, rule, fields)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I pass.", "no object"),
        ("[1, 2]", "no object"),
        ('"text"', "no object"),
        ("null", "no object"),
        ("{note: hi}", "no JSON object"),
        ('{"a": "1"]', "no JSON object"),
        ('{"a": ["1"}, ["2"', "no JSON object"),
        ("{'a': open('x')}", "no JSON object"),
        ("{'a'}", "no JSON object"),
        ("{1: 'a'}", "no JSON object"),
        ("{'a': b'x'}", "no JSON object"),
        ("{'a': {'x'}}", "no JSON object"),
        ("{'a': 1j}", "no JSON object"),
        ("{'a': ...}", "no JSON object"),
        ("{'a': 0x" + "f" * 6000 + "}", "no JSON object"),
    ],
)
def test_what_no_rule_mends_is_invalid_and_says_why(text: str, why: str) -> None:
    assert read_object(text) == Reading("invalid", why, {})


def test_no_more_than_the_limit_is_read() -> None:
    text = '{"a": "' + "x" * (2 * MAX_REPLY) + '"}'
    assert read_object(text).fields == {"a": "x" * (MAX_REPLY - 7)}
    assert read_object("x" * MAX_REPLY + '{"a": "1"}').status == "invalid"


HOSTILE = {
    "10 MB of one letter": "x" * 10**7,
    "10 MB string": '{"post": "' + "y" * 10**7 + '"}',
    "10 MB of braces": "{" * 10**7,
    "10 MB of brackets": '{"a":' + "[" * 10**7,
    "10 MB of quotes": '{"' * (5 * 10**6),
    "escaped quotes": '{"' + '\\"' * 10**5,
    "commas": '{"a": 1' + "," * 10**5 + "}",
    "commas and blanks": '{"a": 1' + ", \n" * 10**5 + "}",
    "one comma, many blanks": '{"a": 1,' + " " * (MAX_REPLY - 9) + "x",
    "fences": "```json\n" * 10**4,
    "open fence": "```\n" + "`` `" * 10**4 + "{",
    "braces that close": "{}" * 10**4,
    "minus signs": "{'a': " + "-" * 19_000 + "1}",
    "sums": "{'a': " + "1+" * 9_900 + "1}",
    "parentheses": "{'a': " + "(" * 9_000 + ")" * 9_000 + "}",
    "Python objects": "{'a':" * 3_000 + "1" + "}" * 3_000,
    "formatted strings": "{'a': f'" + "{a}" * 6_000 + "'}",
    "digits": '{"a": ' + "9" * 15_000 + "}",
    "blanks": '{"a": 1 ' + " " * 10**5,
    "NUL": '{"a": "\0"}' * 1000,
    "lone surrogates": '{"\ud800": "\udfff",' * 1000,
    "combining marks": '{"a": "' + "e\u0301\u200d\u202e" * 5000 + '",}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_reply_is_read_in_a_moment(text: str) -> None:
    reading, seconds = seconds_for(text)
    assert_sound(reading)
    assert seconds < 1


@pytest.mark.parametrize("opening", ['{"a":', "[", '{"a":[', "{'a':"])
@pytest.mark.parametrize("depth", [10, 49, 51, 500, 900, 990, 1000, 2000, 4000])
def test_nesting_of_any_depth_never_raises(opening: str, depth: int) -> None:
    closing = "".join({"{": "}", "[": "]"}.get(c, "") for c in reversed(opening * depth))
    for text in ('{"a":' + opening * depth + "1" + closing + "}", '{"a":' + opening * depth):
        reading, seconds = seconds_for(text)
        assert reading.status in ("ok", "repaired", "invalid")
        assert seconds < 1
