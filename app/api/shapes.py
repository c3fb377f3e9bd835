"""Domain values as the JSON bodies of the agent door and the operator door (agent-api.md)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TypeAlias

from app.domain import verbs
from app.domain.admission import Decision, Waiting, headroom_body, status_body
from app.domain.callers import Endpoint
from app.domain.todos import (
    LONGEST_LEASE_SECONDS,
    SHORTEST_DEFAULT_LEASE_SECONDS,
    Attempt,
    Todo,
    lease_seconds,
)
from app.domain.values import Json, rfc3339, rfc3339_or_none
from app.reads.presence import Standing
from app.reads.todos import TodoDetail
from app.reads.webhooks import WebhookListing, WebhookRow
from app.transactions.claims import Claimed, NothingClaimed
from app.transactions.webhook_secrets import MintedWebhook

Body: TypeAlias = "dict[str, Json]"


def todo_row(
    todo: Todo, *, admission: Decision | None = None, with_payload: bool = True
) -> Body:
    """The todo row: nine keys always, the others only when they hold something.

    `admission` is the status of its queue, None unless it is pending there (REQ-6).
    """
    row: Body = {
        "id": todo.id,
        "queue": todo.queue,
        "title": todo.title,
        "state": todo.state,
        "attempt": todo.attempt,
        "max_attempts": todo.max_attempts,
        "next_retry_at": rfc3339_or_none(todo.next_retry_at),
        "dead_letter": todo.dead_letter,
        "created_at": rfc3339(todo.created_at),
    }
    sometimes: Body = {
        "team": todo.team,
        "source": todo.source,
        "kind": todo.kind,
        "owner": todo.owner,
        "lease_expires_at": rfc3339_or_none(todo.lease_expires_at),
        "payload": todo.payload if with_payload else None,
        "admission": None if admission is None else status_body(admission),
    }
    return row | {key: value for key, value in sometimes.items() if value not in (None, "")}


def attempt(one: Attempt) -> Body:
    """An attempt's read shape (todos.md, "Attempts"): every key, null where nothing is known."""
    return {
        "seq": one.seq,
        "attempt": one.attempt,
        "claimer_kind": one.claimer_kind,
        "claimant": one.claimant,
        "claimed_at": rfc3339(one.claimed_at),
        "last_heartbeat_at": rfc3339_or_none(one.last_heartbeat_at),
        "ended_at": rfc3339_or_none(one.ended_at),
        "outcome": one.outcome,
        "disposition": one.disposition,
        "died": one.died,
        "summary": one.summary,
        "summary_truncated": one.summary_truncated,
        "artifact": one.artifact,
    }


def todo_detail(detail: TodoDetail, admission: Decision | None) -> Body:
    """What get_todo answers: the row, its result and attempts, and a body that is not JSON."""
    body: Body = todo_row(detail.todo, admission=admission) | {
        "result": detail.todo.result,
        "attempts": [attempt(each) for each in detail.attempts],
        "attempts_total": detail.todo.attempts_total,
        "attempts_pruned": detail.todo.attempts_pruned,
    }
    if detail.body is None:
        return body
    return body | {
        "body_base64": base64.b64encode(detail.body.first_bytes).decode("ascii"),
        "body_content_type": detail.body.content_type,
        "body_truncated": detail.body.is_truncated,
    }


def claimed(made: Claimed) -> Body:
    """What claim answers: the row at top level, and the attempt it opened."""
    return todo_row(made.todo) | _opened(made)


def claimed_next(answer: Claimed | NothingClaimed) -> Body:
    """What claim_next answers; `deferred` only when some work waits behind a policy."""
    if isinstance(answer, NothingClaimed):
        waiting: Body = {"deferred": [_waiting(each) for each in answer.deferred]}
        return {"empty": True} | (waiting if answer.deferred else {})
    body: Body = {"todo": todo_row(answer.todo), "empty": False}
    return body | _opened(answer)


def whoami(endpoint: Endpoint, queues: Sequence[str], *, is_in: bool) -> Body:
    """Who the caller is. Whoever can ask is active: a revoked credential opens nothing."""
    own = endpoint.default_lease_ttl_seconds
    return {
        "endpoint_id": str(endpoint.id),
        "slug": endpoint.slug,
        "agent_name": endpoint.agent_name,
        "state": "active",
        "queues": [*queues],
        "verbs": [name for name in verbs.GRANTABLE if name in endpoint.verbs],
        "expires_at": rfc3339_or_none(endpoint.expires_at),
        "default_lease_ttl_seconds": own,
        "effective_lease_ttl_seconds": lease_seconds(None, own),
        "presence": "in" if is_in else "out",
    }


def presence(standing: Standing) -> Body:
    """Whether an endpoint is in, by what, until when, and the plain count of what waits (R24)."""
    now = standing.presence
    return {
        "presence": now.word,
        "source": str(now.source),
        "until": rfc3339_or_none(now.until),
        "shift": now.shift,
        "pending": standing.pending,
    }


def default_lease(seconds: int | None) -> Body:
    """An endpoint's default lease, what claims get by it, and the bounds of setting it."""
    return {
        "default_lease_ttl_seconds": seconds,
        "effective_lease_ttl_seconds": lease_seconds(None, seconds),
        "min": SHORTEST_DEFAULT_LEASE_SECONDS,
        "max": LONGEST_LEASE_SECONDS,
    }


def minted_webhook(made: MintedWebhook, base_url: str) -> Body:
    """A webhook just created or rotated; `signing_secret` only for signed types, this once."""
    secret: Body = {} if made.signing_secret is None else {"signing_secret": made.signing_secret}
    return {
        "webhook_id": str(made.id),
        "ingest_url": ingest_url(base_url, made.ingest_token),
        "source_type": made.source_type,
        "target_queue": made.target_queue,
        "trust_mode": made.trust_mode,
    } | secret


def webhook_row(row: WebhookRow, base_url: str) -> Body:
    """A webhook in a list, without its secret; `rotated_at` only once it was rotated."""
    rotated: Body = {} if row.rotated_at is None else {"rotated_at": rfc3339(row.rotated_at)}
    return {
        "webhook_id": str(row.id),
        "ingest_url": ingest_url(base_url, row.ingest_token),
        "source_type": row.source_type,
        "target_queue": row.target_queue,
        "trust_mode": row.trust_mode,
        "created_at": rfc3339(row.created_at),
    } | rotated


def webhook_listing(listing: WebhookListing, base_url: str) -> Body:
    """An endpoint's webhooks and how many of which kind it may have."""
    ceiling = listing.ceiling
    return {
        "webhooks": [webhook_row(row, base_url) for row in listing.webhooks],
        "ceiling": {
            "max": ceiling.max,
            "allowed_source_types": [*ceiling.allowed_source_types],
            "allowed_queues": [*ceiling.allowed_queues],
            "used": ceiling.used,
        },
    }


def ingest_url(base_url: str, ingest_token: str) -> str:
    """Where a sender posts (ingest.md); `base_url` has no trailing slash."""
    return f"{base_url}/webhooks/w/{ingest_token}"


def _waiting(one: Waiting) -> Body:
    """A queue with work that admits no claim now; `exact` beside every `next_eligible_at`."""
    return {
        "queue": one.queue,
        "reason": str(one.reason),
        "pending": one.pending,
        "next_eligible_at": rfc3339_or_none(one.next_eligible_at),
        "exact": one.exact,
    }


def _opened(made: Claimed) -> Body:
    """The attempt a claim opened; `admission` only with a policy, `lease_token` when fenced."""
    opened: Body = {
        "attempt_seq": made.attempt_seq,
        "attempts_total": made.attempts_total,
        "prior_attempts": [attempt(each) for each in made.prior_attempts],
    }
    left = made.admission
    headroom: Body = {} if left is None else {"admission": headroom_body(left)}
    fence: Body = {} if made.lease_token is None else {"lease_token": made.lease_token}
    return opened | headroom | fence
