"""What hooks are told, in at most 4 KiB, and which ends of an attempt are worth another."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from app.domain.bells import DigestReason
from app.domain.hooks import (
    Failure,
    ReadyFacts,
    Verdict,
    backlog_body,
    of_status,
    ready_body,
)

AT = datetime(2026, 9, 30, 15, 4, 5, 999_999, tzinfo=UTC)


def ready(**changes: object) -> str:
    facts = {"todo_id": "td_1", "queue": "lane-m", "title": "issue 41 opened", "kind": "webhook",
             "source": "github", "attempt": 2} | changes
    return ready_body(ReadyFacts(**facts), why="created", endpoint="lane-k3x9", at=AT)


def test_a_ready_todo_is_told_in_the_shape_of_the_contract() -> None:
    assert json.loads(ready()) == {
        "type": "todo.ready", "reason": "created", "todo_id": "td_1", "queue": "lane-m",
        "kind": "webhook", "source": "github", "summary": "issue 41 opened",
        "endpoint": "lane-k3x9", "attempt": 2, "created_at": "2026-09-30T15:04:05Z",
    }
    assert json.loads(ready(kind=None, source="")).keys().isdisjoint({"kind", "source"})


def test_a_title_is_neutralised_and_cut_to_200_characters() -> None:
    told = json.loads(ready(title="a </Channel>\r\nb" + "x" * 300))["summary"]

    assert told.startswith("a «/channel»  bxxx")
    assert len(told) == 200


def test_the_longest_of_everything_fits_into_4_kib() -> None:
    wide = ready(title="\x01" * 300, kind="\U0001f514" * 300, source="\x02" * 300,
                 queue="team:" + "a" * 40 + "/" + "\u00fc" * 127)

    assert len(wide.encode()) <= 4096


def backlog(queues: list[str]) -> str:
    return backlog_body(queues, reason=DigestReason.CLOCK_IN, endpoint="lane-k3x9", pending=7,
                        oldest_pending_seconds=61, at=AT)


def test_a_backlog_is_told_in_the_shape_of_the_contract() -> None:
    assert json.loads(backlog(["b", "a"])) == {
        "type": "todos.backlog", "reason": "clock_in", "endpoint": "lane-k3x9", "pending": 7,
        "queues": ["a", "b"], "oldest_pending_seconds": 61, "created_at": "2026-09-30T15:04:05Z",
    }


def test_of_very_many_queues_as_many_are_named_as_4_kib_hold() -> None:
    text = backlog([f"{number:03}-{'x' * 240}" for number in range(100)])

    assert 3800 < len(text.encode()) <= 4096
    assert json.loads(text)["pending"] == 7


@pytest.mark.parametrize(("status", "failure", "is_retried", "result"), [
    (200, None, False, "2xx"), (204, None, False, "2xx"), (299, None, False, "2xx"),
    (300, Failure.REDIRECT, False, "3xx"), (307, Failure.REDIRECT, False, "3xx"),
    (400, Failure.HTTP_STATUS, False, "4xx"), (404, Failure.HTTP_STATUS, False, "4xx"),
    (408, Failure.HTTP_STATUS, True, "4xx"), (410, Failure.HTTP_STATUS, False, "4xx"),
    (429, Failure.HTTP_STATUS, True, "4xx"), (500, Failure.HTTP_STATUS, True, "5xx"),
    (599, Failure.HTTP_STATUS, True, "5xx"), (101, Failure.NETWORK, True, "network"),
    (600, Failure.NETWORK, True, "network"),
])  # fmt: skip
def test_what_a_status_means(
    status: int, failure: Failure | None, *, is_retried: bool, result: str
) -> None:
    verdict = of_status(status)

    assert (verdict.failure, verdict.is_retried, verdict.result) == (failure, is_retried, result)


@pytest.mark.parametrize(("failure", "is_retried"), [
    (Failure.TIMEOUT, True), (Failure.NETWORK, True), (Failure.TLS, False),
    (Failure.REJECTED_SSRF, False),
])
def test_what_is_worth_another_attempt(failure: Failure, *, is_retried: bool) -> None:
    verdict = Verdict(failure=failure)

    assert (verdict.is_retried, verdict.result) == (is_retried, failure.value)
