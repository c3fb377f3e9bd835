"""Notify hooks in words: the cards of an endpoint's page, and what deleting one will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.domain.hook_urls import redacted
from app.domain.hooks import FAILURES_UNTIL_DISABLED, SECONDS_PER_ATTEMPT, Failure
from app.reads.hooks import HookRow
from app.web.present import Instant, instant

_FAULTS = {
    Failure.TIMEOUT: f"It did not answer within {SECONDS_PER_ATTEMPT:.0f} seconds.",
    Failure.TLS: "Its certificate is not one that this server trusts for that name.",
    Failure.NETWORK: "There was no connection, or an answer that is not HTTP.",
    Failure.REDIRECT: "It answered with a redirect ({status}), and redirects are not followed.",
    Failure.HTTP_STATUS: "It answered {status}.",
    Failure.REJECTED_SSRF: "Its host leads to an address that hooks may not reach.",
}
_DISABLED = {
    "operator": "Disabled here, on this page",
    "consecutive_failures": (
        f"Disabled by itself after {FAILURES_UNTIL_DISABLED} failed deliveries in a row"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCard:
    """One hook on its endpoint's page. `switch` is the address that switches it off or on;
    `fault` is the last error in words, or empty.
    """

    id: str
    name: str
    url: str
    queues: str
    presence: str
    state: str
    since: Instant | None
    failures: str
    last: Instant | None
    fault: str
    created: Instant | None
    rotated: Instant | None
    switch: str
    switch_label: str
    delete: str
    delete_label: str


def cards(endpoint_id: UUID, rows: Sequence[HookRow], zone: str | None) -> list[HookCard]:
    """The hooks of an endpoint, oldest first, numbered as they stand."""
    return [_card(endpoint_id, number, row, zone) for number, row in enumerate(rows, 1)]


def fault_words(error: str | None, status: int | None) -> str:
    """The last error as a sentence; empty when the last attempt was a delivery."""
    return "" if error is None else _FAULTS[Failure(error)].format(status=status)


def delete_lines(card: HookCard, slug: str) -> list[str]:
    """What deleting a hook will do, sentence by sentence."""
    return [
        f"Nothing is sent to {card.url} any more. What is being sent now may still arrive.",
        f"The agent of {slug} can register the URL again, with another secret.",
    ]


def _card(endpoint_id: UUID, number: int, row: HookRow, zone: str | None) -> HookCard:
    name = f"hook {number}"
    base = f"/endpoints/{endpoint_id}/hooks/{row.id}"
    act = "Disable" if row.enabled else "Enable"
    return HookCard(
        id=f"hook-{row.id}",
        name=name.capitalize(),
        url=redacted(row.url),
        queues=", ".join(row.queues) or "every queue it may work",
        presence=(
            "called while the endpoint is out, too"
            if row.ignore_presence
            else "called only while the endpoint is in"
        ),
        state="Enabled" if row.disabled_reason is None else _DISABLED[row.disabled_reason],
        since=instant(row.disabled_at, zone),
        failures=_failures(row),
        last=instant(row.last_attempt_at, zone),
        fault=fault_words(row.last_error, row.last_status),
        created=instant(row.created_at, zone),
        rotated=instant(row.rotated_at, zone),
        switch=f"{base}/{act.lower()}",
        switch_label=f"{act} {name}",
        delete=f"{base}/delete",
        delete_label=f"Delete {name}",
    )


def _failures(row: HookRow) -> str:
    count = row.consecutive_failures
    if not (count and row.enabled):
        return str(count) if count else "none"
    return f"{count} of {FAILURES_UNTIL_DISABLED} until it is disabled"
