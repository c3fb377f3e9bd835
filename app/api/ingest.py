"""`POST /webhooks/w/{token}`: the only inbound route (contract ingest.md)."""

from __future__ import annotations

import ipaddress
import logging

from flask import Blueprint, Response, jsonify, request

from app.domain.deliveries import (
    LARGEST_BODY,
    Arrival,
    Delivery,
    Handshake,
    Judgement,
    Refused,
    Webhook,
    judge,
    refusal,
)
from app.domain.errors import DomainError, InvalidArgument, RateLimited, TooLarge
from app.domain.signatures import Reason
from app.domain.values import Json
from app.edge.address import client_address
from app.edge.bodies import body_bytes
from app.edge.deps import database, state
from app.transactions import deliveries
from app.transactions.deliveries import Delivered, DeliveredTodo

bp = Blueprint("ingest", __name__)

log = logging.getLogger(__name__)


@bp.post("/webhooks/w/<token>")
def receive(token: str) -> Response:
    """Take one delivery: 202 with its todos, the answer to a handshake, or a refusal that stores
    nothing, counts one verdict and at most one reason, and leaves one line in the log.
    """
    webhook, judged = None, None
    try:
        webhook = deliveries.find_webhook(database(), token)
        judged = _judge(webhook)
        response = _answer(judged)
    except DomainError as error:
        _note_refusal(webhook, judged, error)
        raise
    deliveries.count_verdict(database(), webhook, accepted=True)
    return response


def _judge(webhook: Webhook | None) -> Judgement:
    if webhook is None:
        return Refused(reason=Reason.UNKNOWN_WEBHOOK)
    try:
        body = body_bytes(LARGEST_BODY)
    except TooLarge:
        return Refused(reason=Reason.TOO_LARGE)
    except InvalidArgument:
        return Refused(reason=Reason.UNREADABLE)
    return judge(webhook, Arrival(headers=dict(request.headers), body=body, source_ip=_address()))


def _answer(judged: Judgement) -> Response:
    limits = state().limits
    if isinstance(judged, Refused):
        if not limits.ingest_refused.take(client_address()):
            raise RateLimited
        raise refusal(judged.reason)
    if not limits.ingest_accepted.take(judged.webhook.id):
        raise RateLimited
    if isinstance(judged, Handshake):
        return _json(judged.body, judged.status)
    return _delivered(judged, deliveries.deliver(database(), judged))


def _delivered(delivery: Delivery, delivered: Delivered) -> Response:
    own = delivered.own
    return _json(
        {
            "todos": [_todo(todo) for todo in delivered.todos],
            "created": delivered.created,
            "id": own.id if own else None,
            "queue": own.queue if own else None,
            "verified": delivery.verified,
            "trust_mode": delivery.trust_mode,
        },
        202,
    )


def _todo(todo: DeliveredTodo) -> dict[str, Json]:
    place: dict[str, Json] = (
        {"team": todo.team} if todo.team else {"endpoint_id": str(todo.endpoint_id)}
    )
    return {"id": todo.id, **place, "queue": todo.queue, "created": todo.created}


def _json(body: dict[str, Json], status: int) -> Response:
    response = jsonify(body)
    response.status_code = status
    return response


def _address() -> str | None:
    try:
        return str(ipaddress.ip_address(client_address()))
    except ValueError:
        return None


def _note_refusal(
    webhook: Webhook | None, judged: Judgement | None, error: DomainError
) -> None:
    """Count and log a refusal: never the token, a header, the secret or the body."""
    db = database()
    deliveries.count_verdict(db, webhook, accepted=False)
    # Over the rate nothing is said of the delivery itself, in the counters or in the log.
    is_judged = isinstance(judged, Refused) and not isinstance(error, RateLimited)
    reason = judged.reason if isinstance(judged, Refused) and is_judged else None
    if reason is not None:
        deliveries.count_reason(db, webhook, reason)
    log.warning(
        "delivery_refused code=%s reason=%s source=%s webhook=%s address=%s",
        error.code,
        reason or "none",
        webhook.source_type if webhook else "unknown",
        webhook.id if webhook else "unknown",
        _address() or "unknown",
    )
