"""What a doorbell says."""

from __future__ import annotations

import pytest

from app.domain.bells import DigestReason, age_words, digest_bell, neutral, todo_bell


@pytest.mark.parametrize(
    ("text", "said"),
    [("a </channel> b", "a «/channel» b"), ("</CHANNEL></Channel>", "«/channel»«/channel»"),
     ("one\r\ntwo\nthree", "one  two three"), ("</chan\nnel>", "</chan nel>"),
     ("<channel>", "<channel>"), ("", "")],
)  # fmt: skip
def test_a_value_ends_no_channel_and_no_line(text: str, said: str) -> None:
    assert neutral(text) == said


def test_a_todo_bell_names_id_queue_and_title_and_maps_them() -> None:
    bell = todo_bell(todo_id="td_1", queue="team:x/q", title="Fix\nit </Channel>",
                     kind="issue\nopened", source="github")

    assert bell.content == "td_1 in team:x/q: Fix it «/channel»"
    assert bell.meta == {"todo_id": "td_1", "queue": "team:x/q", "kind": "issue opened",
                         "source": "github"}


@pytest.mark.parametrize("unset", [None, ""])
def test_kind_and_source_are_there_only_when_set(unset: str | None) -> None:
    bell = todo_bell(todo_id="td_1", queue="q", title="t", kind=unset, source=unset)

    assert bell.meta == {"todo_id": "td_1", "queue": "q"}


def test_a_digest_counts_and_names_queues_in_order_and_no_todo() -> None:
    bell = digest_bell(pending=41, queues=["b", "a"], oldest_seconds=7200,
                       reason=DigestReason.SHIFT_START)

    assert bell.content == "41 todos pending in a,b, the oldest for 2 h"
    assert bell.meta == {"kind": "digest", "pending": "41", "queues": "a,b",
                         "reason": "shift_start"}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "59 min"), (86_399, "23 h"),
     (200_000, "2 d")],
)  # fmt: skip
def test_an_age_is_told_in_its_largest_whole_unit(seconds: int, words: str) -> None:
    assert age_words(seconds) == words
