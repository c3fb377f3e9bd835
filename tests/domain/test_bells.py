"""What a doorbell says, and how long its todo stays silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.domain import bells
from app.domain.bells import DigestReason, Hush, age_words, digest_bell, neutral, todo_bell

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


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


def test_a_todo_is_silent_for_a_minute_after_it_rang() -> None:
    hush = Hush()
    hush.begin("td_1", NOON)

    assert not hush.is_over("td_1", NOON + timedelta(seconds=59))
    assert hush.is_over("td_1", NOON + timedelta(seconds=60))
    assert hush.is_over("td_1", NOON - timedelta(seconds=1))  # a clock that was moved back
    assert hush.is_over("td_2", NOON)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bells, "_REMEMBERED", 3)
    hush = Hush()
    for number in range(5):
        hush.begin(f"td_{number}", NOON)
    later = NOON + timedelta(minutes=2)
    hush.begin("td_9", later)

    assert hush.is_over("td_4", NOON)  # no room: it may ring twice, which is only a hint too many
    assert not hush.is_over("td_9", later)
    assert len(hush._rung) == 1
