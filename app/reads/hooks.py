"""Notify hooks, as lists for the endpoint itself or for who may configure it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db.database import Database, many
from app.db.statements import load
from app.domain.callers import Endpoint, Human, require_verb

SQL = load("hook_list")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRow:
    """One hook and its health. `url` is whole: whoever shows it redacts it (push.md)."""

    id: UUID
    url: str
    queues: list[str]
    ignore_presence: bool
    enabled: bool
    disabled_reason: str | None
    disabled_at: datetime | None
    consecutive_failures: int
    last_status: int | None
    last_error: str | None
    last_attempt_at: datetime | None
    created_at: datetime
    rotated_at: datetime | None


def list_for_endpoint(db: Database, endpoint: Endpoint) -> list[HookRow]:
    """The endpoint's own hooks, oldest first; Forbidden without the verb."""
    require_verb(endpoint, "list_notify_hooks")
    with db.reading() as conn:
        return many(
            conn, SQL["read_hooks_of_endpoint"], {"endpoint_id": endpoint.id}, HookRow
        )


def list_of_endpoint(db: Database, human: Human, endpoint_id: UUID) -> list[HookRow]:
    """The hooks of an endpoint the human may configure, oldest first; none of any other."""
    params = {"human_id": human.id, "endpoint_id": endpoint_id}
    with db.reading() as conn:
        return many(conn, SQL["read_hooks_of_human"], params, HookRow)
