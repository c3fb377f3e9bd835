"""Policies by API: list, read, replace and clear (operator-api.md, "Admission routes").

A write is checked in this order: caller, rate, size and type, may the caller manage the queue, and
only then what the body says, so that a 400 tells nobody about queues of others (R57).
"""

from __future__ import annotations

from flask import jsonify
from flask.typing import ResponseReturnValue

from app.api import admission_shapes as shapes
from app.api import arguments
from app.api.arguments import Arguments, Text
from app.api.operator.door import bp, has_body, queried
from app.domain import strictjson
from app.domain.queues import QueueAddress
from app.edge.bodies import json_bytes
from app.edge.deps import database, human
from app.reads import budgets, manageable
from app.transactions import policies, write_limit

BODY_LIMIT_BYTES = 16 * 1024
_PATH = "/admission/<scope>/<path:queue>"


class Clear(Arguments):
    """Query of DELETE."""

    reason: Text | None = None


@bp.get("/admission")
def list_policies() -> ResponseReturnValue:
    """The policies of every queue the human may manage."""
    queried(Arguments)
    found = budgets.for_human_list(database(), human())
    return jsonify(policies=[shapes.listed_budget(each) for each in found])


@bp.get(_PATH)
def read_policy(scope: str, queue: str) -> ResponseReturnValue:
    """One queue's policy with its windows and audit; nulls without a policy."""
    queried(Arguments)
    detail = budgets.for_human_one(database(), human(), QueueAddress(scope, queue))
    return jsonify(shapes.budget_detail(detail))


@bp.put(_PATH)
def put_policy(scope: str, queue: str) -> ResponseReturnValue:
    """Replace one queue's policy by the body: a key it leaves out is null."""
    write_limit.take(database(), human())
    data, address = json_bytes(BODY_LIMIT_BYTES), QueueAddress(scope, queue)
    manageable.require_active(database(), human(), address)
    raw = strictjson.parse_object(data)
    reason = raw.pop("reason", None)
    return jsonify(shapes.budget(policies.save(database(), human(), address, raw, reason=reason)))


@bp.delete(_PATH)
def delete_policy(scope: str, queue: str) -> ResponseReturnValue:
    """Clear one queue's policy; its usage and audit stay."""
    write_limit.take(database(), human())
    data = json_bytes(BODY_LIMIT_BYTES) if has_body() else b"{}"
    address = QueueAddress(scope, queue)
    manageable.require_active(database(), human(), address)
    arguments.parse(Arguments, strictjson.parse_object(data))
    reason = queried(Clear).reason
    return jsonify(deleted=policies.clear(database(), human(), address, reason=reason))
