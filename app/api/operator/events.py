"""Events by API: what arrived in the human's own scope."""

from __future__ import annotations

import base64

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api.operator.door import bp, queried
from app.api.operator.page import Page
from app.domain.strictjson import parse_lenient
from app.domain.values import Json, rfc3339
from app.edge.deps import database, human
from app.reads import events
from app.reads.events import EventDetail, EventRow

_BODY_SHOWN_BYTES = 64 * 1024


@bp.get("/events")
def list_events() -> ResponseReturnValue:
    """A page of events, newest first, without their bodies."""
    query = queried(Page)
    page = events.page_events(database(), human(), query.cursor, query.limit)
    return jsonify(events=[_row(row) for row in page.events], next_cursor=page.next_cursor)


@bp.get("/events/<event_id>")
def read_event(event_id: str) -> ResponseReturnValue:
    """One event with its redacted headers, its body and the todos it became."""
    return jsonify(_detail(events.get_event(database(), human(), event_id)))


def _row(row: EventRow) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "id": row.id,
        "source": row.source,
        "family": row.family,
        "event_type": row.event_type,
        "external_id": row.external_id,
        "trust_mode": row.trust_mode,
        "verified": row.verified,
        "verify_detail": row.verify_detail,
        "content_type": row.content_type,
        "payload_size": row.payload_size,
        "received_at": rfc3339(row.received_at),
        "webhook_id": None if row.webhook_id is None else str(row.webhook_id),
    }
    if row.team is not None:
        return shown | {"team": row.team}
    return shown | {"endpoint_id": str(row.endpoint_id), "slug": row.slug}


def _detail(detail: EventDetail) -> dict[str, Json]:
    shown = _row(detail.event) | {"headers": detail.headers, "todos": [*detail.todos]}
    return shown if detail.payload is None else shown | _body(detail.payload)


def _body(payload: bytes) -> dict[str, Json]:
    """A JSON body as `payload`; any other as the first 64 KiB of its bytes, as get_todo does."""
    parsed = parse_lenient(payload)
    if parsed is None or isinstance(parsed, bool | int | float | str | list | dict):
        return {"payload": parsed}
    return {
        "body_base64": base64.b64encode(payload[:_BODY_SHOWN_BYTES]).decode("ascii"),
        "body_truncated": len(payload) > _BODY_SHOWN_BYTES,
    }
