"""JSON comes out as it came in, but readable and harmless to a terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli.jsontext import escape, parse_one, reindent

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_reindented_json_says_the_same(value: object) -> None:
    spelled = json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent=7)
    for text in spelled:
        assert json.loads(reindent(text)) == json.loads(text)


@settings(deadline=None)
@given(VALUES)
def test_reindenting_twice_changes_nothing_more(value: object) -> None:
    once = reindent(json.dumps(value))

    assert reindent(once) == once


def test_reindenting_looks_like_two_spaces_a_level() -> None:
    assert reindent('{"a":[1,{"b":[]},{}],"c":"x, y: {z}"}') == (
        '{\n  "a": [\n    1,\n    {\n      "b": []\n    },\n    {}\n  ],\n  "c": "x, y: {z}"\n}'
    )


def test_numbers_keep_their_spelling() -> None:
    assert reindent('[1.10,1e400,123456789012345678901234567890]').split() == [
        "[", "1.10,", "1e400,", "123456789012345678901234567890", "]",
    ]  # fmt: skip


@pytest.mark.parametrize("char", ["\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\u2028", "\ud800"])
def test_a_character_that_could_drive_a_terminal_is_escaped(char: str) -> None:
    assert escape(f"a{char}b") == f"a\\u{ord(char):04x}b"
    assert char not in reindent(f'["{char}"]')


def test_ordinary_text_stays() -> None:
    assert escape("Zürich 東京 🙂 é") == "Zürich 東京 🙂 é"


@pytest.mark.parametrize(
    "text",
    ["", "nope", "NaN", "1e999", '"\\u0000"', '"\\ud800"', '{"a":1,"a":2}', "1,2", '1,"b":2',
     "[" * 80 + "]" * 80, "\udcff"],
)  # fmt: skip
def test_what_a_request_could_not_carry_is_not_one_value(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_one(text)


def test_one_value_is_parsed() -> None:
    assert parse_one(' {"a": [1, null]} \n') == {"a": [1, None]}
