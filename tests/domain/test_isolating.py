"""Names that would turn the words beside them around."""

from __future__ import annotations

import pytest

from app.domain.isolating import isolate

FSI, PDI, RLO, RLI = "\u2068", "\u2069", "\u202e", "\u2067"


@pytest.mark.parametrize("text", ["", "inbox", "deferred · budget", "Zoë, 日本", "“x”"])
def test_text_that_turns_nothing_is_left_exactly_as_it_is(text: str) -> None:
    assert isolate(text) == text


@pytest.mark.parametrize(("text", "inside"), [
    ("שלום", "שלום"),
    (f"a{RLO}b", f"a{RLO}b"),
    (f"a{PDI}{RLO}b", f"a{RLO}b"),
    (f"a{RLI}b", f"a{RLI}b{PDI}"),
    (f"{FSI}a{PDI}{PDI}{RLO}", f"{FSI}a{PDI}{RLO}"),
])
def test_other_text_is_closed_in_and_cannot_let_itself_out(text: str, inside: str) -> None:
    assert isolate(text) == f"{FSI}{inside}{PDI}"


def test_a_sentence_of_isolated_parts_needs_nothing_more() -> None:
    sentence = f"Edit budget for {isolate('שלום')}"

    assert isolate(sentence) == sentence
    assert isolate(isolate(f"x{RLO}")) == isolate(f"x{RLO}")
