"""A delivery becomes todos, or finds the ones it became: `deliver` (contract ingest.md).

Whoever else makes todos calls `creating.insert_event`, `creating.create_todo` and
`creating.report_created`, as `deliver` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.db.database import Connection, Database, many, one, run
from app.db.sealing import SealBroken
from app.db.statements import load
from app.domain.deliveries import Delivery, Webhook
from app.domain.errors import Unavailable
from app.domain.signatures import TRUST, Reason, Source
from app.transactions import creating
from app.transactions.creating import CreatedTodo, NewEvent, NewTodo

SQL = load("deliveries")

OTHER = "__other__"
_KIND = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredTodo:
    """One target's copy; `endpoint_id` is null on a team's, whose slug is `team`."""

    id: str
    endpoint_id: UUID | None
    team: str | None
    queue: str
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What a delivery became; `own` is the owning endpoint's todo, or the team's."""

    todos: tuple[DeliveredTodo, ...]
    own: DeliveredTodo | None

    @property
    def created(self) -> int:
        """How many todos are new."""
        return sum(todo.created for todo in self.todos)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    endpoint_id: UUID | None
    team_id: UUID | None
    queue_id: int | None
    queue_name: str
    queue: str
    team: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueueId:
    endpoint_id: UUID
    queue_id: int


def find_webhook(db: Database, ingest_token: str) -> Webhook | None:
    """The webhook an ingest URL belongs to, its secret opened; None for an unknown token.

    A secret that this server's key does not open counts as not held. Raises Unavailable.
    """
    if "\x00" in ingest_token:
        return None
    with db.reading() as conn:
        stored = one(conn, SQL["read_webhook"], {"ingest_token": ingest_token}, Webhook)
    if stored is None:
        return None
    return replace(stored, secret=_opened(db, stored))


def deliver(db: Database, delivery: Delivery) -> Delivered:
    """Store the event and one todo per target, or find what an earlier delivery stored.

    One transaction for the event and all copies. Raises Unavailable, with nothing stored, when
    no target is left or the database is away; OutcomeUnknown when the commit's fate is.
    """
    with db.transaction() as conn:
        targets = _with_queues(conn, _targets(conn, delivery.webhook))
        if not targets:
            raise Unavailable("No target of the webhook takes deliveries now.")
        event_id = creating.insert_event(conn, _event(delivery, targets[0]))
        todos = [_todo(delivery, target, event_id) for target in targets]
        made = [creating.create_todo(conn, todo) for todo in todos]
    creating.report_created(db, made, source=delivery.webhook.source_type)
    copies = tuple(map(_copy, targets, made))
    return Delivered(todos=copies, own=_own(copies, delivery.webhook))


def count_verdict(db: Database, webhook: Webhook | None, *, accepted: bool) -> None:
    """Count one delivery's verdict (metrics.md); an unknown webhook has no provider to name."""
    provider, trust_mode = _labels(webhook)
    db.counters.add(
        "switchboard_webhook_deliveries_total",
        provider=provider,
        trust_mode=trust_mode,
        verdict="accepted" if accepted else "rejected",
    )


def count_reason(db: Database, webhook: Webhook | None, reason: Reason) -> None:
    """Count why a delivery was refused, in the vocabulary of ingest.md, "Metrics"."""
    db.counters.add(
        "switchboard_webhook_verify_failures_total", provider=_labels(webhook)[0], reason=reason
    )


def _labels(webhook: Webhook | None) -> tuple[str, str]:
    if webhook is None or webhook.source_type not in {*Source}:
        return OTHER, OTHER
    source = Source(webhook.source_type)
    return source, TRUST[source]


def _opened(db: Database, webhook: Webhook) -> str | None:
    if webhook.secret is None:
        return None
    try:
        return db.sealer.open(webhook.secret, str(webhook.id))
    except SealBroken:
        return None


def _targets(conn: Connection, webhook: Webhook) -> list[_Target]:
    is_team = webhook.target_team_queue_id is not None or webhook.target_queue.startswith("team:")
    statement = SQL["lock_team_target" if is_team else "lock_targets"]
    params = {"webhook_id": webhook.id, "ingest_token": webhook.ingest_token}
    return many(conn, statement, params, _Target)


def _with_queues(conn: Connection, targets: Sequence[_Target]) -> list[_Target]:
    """Give each endpoint target the id of its queue, made now when it is missing."""
    missing = [target.endpoint_id for target in targets if target.queue_id is None]
    if not missing:
        return list(targets)
    params = {"endpoint_ids": missing, "queue_name": targets[0].queue_name}
    run(conn, SQL["insert_missing_queues"], params)
    rows = many(conn, SQL["read_queue_ids"], params, _QueueId)
    ids = {row.endpoint_id: row.queue_id for row in rows}
    return [
        replace(target, queue_id=ids[target.endpoint_id])
        for target in targets
        if target.endpoint_id in ids
    ]


def _event(delivery: Delivery, target: _Target) -> NewEvent:
    """The event belongs to the webhook's endpoint, whoever else gets a copy; or to the team."""
    return NewEvent(
        source=delivery.webhook.source_type,
        family="webhook",
        event_type=delivery.event_type,
        external_id=delivery.external_id,
        trust_mode=delivery.trust_mode,
        verified=delivery.verified,
        verify_detail=delivery.verify_detail,
        content_type=delivery.content_type,
        headers=delivery.headers,
        payload=delivery.body,
        source_ip=delivery.source_ip,
        webhook_id=delivery.webhook.id,
        endpoint_id=delivery.webhook.endpoint_id if target.team_id is None else None,
        team_id=target.team_id,
    )


def _todo(delivery: Delivery, target: _Target, event_id: int) -> NewTodo:
    assert target.queue_id is not None  # _with_queues gave each target one
    return NewTodo(
        queue_id=target.queue_id,
        endpoint_id=target.endpoint_id,
        team_id=target.team_id,
        source=delivery.webhook.source_type,
        kind=_KIND,
        title=delivery.title,
        payload=delivery.payload,
        has_payload=delivery.is_json,
        event_id=event_id,
        idempotency_key=delivery.external_id,
    )


def _copy(target: _Target, made: CreatedTodo) -> DeliveredTodo:
    return DeliveredTodo(
        id=made.id,
        endpoint_id=target.endpoint_id,
        team=target.team,
        # A live todo keeps its queue, also when the webhook points elsewhere since.
        queue=target.queue if made.queue_id == target.queue_id else made.queue_name,
        created=made.created,
    )


def _own(copies: Sequence[DeliveredTodo], webhook: Webhook) -> DeliveredTodo | None:
    owners = (webhook.endpoint_id, None)  # a team target stands in the owner's place
    return next((copy for copy in copies if copy.endpoint_id in owners), None)
