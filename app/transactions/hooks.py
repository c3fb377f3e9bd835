"""Notify hooks: create, rotate and delete by the endpoint itself; switched by its owner (REQ-8)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db import minting, resolving
from app.db.database import Connection, Database, one, run, value
from app.db.resolving import AddressRefused, NotResolved
from app.db.statements import load
from app.domain.addresses import way_in
from app.domain.callers import Endpoint, Human, require_verb
from app.domain.errors import (
    CeilingExceeded,
    Forbidden,
    InvalidArgument,
    NotFound,
    RateLimited,
)
from app.domain.hook_urls import parse_hook_url
from app.domain.hooks import SECONDS_PER_ATTEMPT, HookRules
from app.domain.references import parse_uuid
from app.transactions import configuring

SQL = load("hooks")

AT_ONCE = 8
"""How many names this process resolves at once for new hooks: a slow name server holds a thread."""

_SEATS = threading.BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MintedHook:
    """A hook just made; `signing_secret` is shown this once. `url` is whole: redact it to show."""

    id: UUID
    url: str
    queues: tuple[str, ...]
    ignore_presence: bool
    signing_secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RotatedHook:
    """A hook with a fresh secret, which it is enabled with; the old one signs beside it until
    `previous_valid_until`.
    """

    id: UUID
    signing_secret: str
    previous_valid_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Locked:
    id: UUID
    enabled: bool
    state: str


def create(
    db: Database,
    endpoint: Endpoint,
    url: str,
    *,
    queues: Sequence[str] = (),
    ignore_presence: bool = False,
    rules: HookRules,
) -> MintedHook:
    """Register a hook of the endpoint; without `queues` it is told of all it drains.

    Raises Forbidden without the verb and for a queue outside scope, InvalidArgument on `url` for
    one that may not be dialled, CeilingExceeded, RateLimited while many names are resolved.
    """
    require_verb(endpoint, "create_notify_hook")
    _require_reachable(url, rules)
    if len(set(queues)) != len(queues):
        raise InvalidArgument("queues: a queue is named twice.", field="queues")
    made = MintedHook(
        id=minting.new_id(),
        url=url,
        queues=tuple(queues),
        ignore_presence=ignore_presence,
        signing_secret=minting.hook_secret(),
    )
    with db.transaction() as conn:
        _require_place(conn, endpoint.id, made.queues, rules)
        run(conn, SQL["insert_hook"], _row(db, endpoint.id, made))
    return made


def rotate(db: Database, endpoint: Endpoint, hook_id: str) -> RotatedHook:
    """Give a hook a new secret and switch it on again. NotFound for another endpoint's."""
    require_verb(endpoint, "rotate_notify_hook")
    found = parse_uuid(hook_id)
    secret = minting.hook_secret()
    sealed = db.sealer.seal(secret, str(found))
    params = {"hook_id": found, "endpoint_id": endpoint.id, "secret": sealed}
    with db.transaction() as conn:
        valid_until = value(conn, SQL["mark_rotated"], params)
    if found is None or not isinstance(valid_until, datetime):
        raise NotFound
    return RotatedHook(id=found, signing_secret=secret, previous_valid_until=valid_until)


def delete(db: Database, endpoint: Endpoint, hook_id: str) -> UUID:
    """Delete a hook of the endpoint; what is on its way ends. NotFound for another's."""
    require_verb(endpoint, "delete_notify_hook")
    params = {"hook_id": parse_uuid(hook_id), "endpoint_id": endpoint.id}
    with db.transaction() as conn:
        deleted = value(conn, SQL["delete_hook"], params)
    if not isinstance(deleted, UUID):
        raise NotFound
    return deleted


def disable_as(db: Database, human: Human, endpoint_id: str, hook_id: str) -> bool:
    """Switch a hook off, by who may configure its endpoint; False when it was off already.

    NotFound for any other hook, Conflict with `state` on a revoked endpoint.
    """
    with db.transaction() as conn:
        hook = _lock_as(conn, human, endpoint_id, hook_id)
        if hook.enabled:
            run(conn, SQL["mark_disabled"], {"hook_id": hook.id})
    if hook.enabled:
        db.counters.add("switchboard_notify_hooks_disabled_total", reason="operator")
    return hook.enabled


def enable_as(db: Database, human: Human, endpoint_id: str, hook_id: str) -> bool:
    """Switch a hook on again with a clean sheet; False when it was on. Raises as disable_as."""
    with db.transaction() as conn:
        hook = _lock_as(conn, human, endpoint_id, hook_id)
        if not hook.enabled:
            run(conn, SQL["mark_enabled"], {"hook_id": hook.id})
    return not hook.enabled


def delete_as(db: Database, human: Human, endpoint_id: str, hook_id: str) -> None:
    """Delete a hook by who may configure its endpoint. Raises as disable_as."""
    with db.transaction() as conn:
        hook = _lock_as(conn, human, endpoint_id, hook_id)
        run(conn, SQL["delete_locked"], {"hook_id": hook.id})


def _require_reachable(url: str, rules: HookRules) -> None:
    """Judge the URL and every address of its host, as each delivery does again."""
    parsed = parse_hook_url(url, allows_http=rules.allows_http)
    if not _SEATS.acquire(blocking=False):
        raise RateLimited("Other hooks are being registered; try again shortly.")
    try:
        resolving.judged(parsed, rules.addresses, seconds=SECONDS_PER_ATTEMPT)
    except AddressRefused as refused:
        raise InvalidArgument(
            f"url: its host has an address that hooks may not reach ({refused.why})."
            f" {way_in(refused.why)}",
            field="url",
        ) from None
    except NotResolved:
        raise InvalidArgument("url: no address was found for its host.", field="url") from None
    finally:
        _SEATS.release()


def _require_place(
    conn: Connection, endpoint_id: UUID, queues: Sequence[str], rules: HookRules
) -> None:
    params = {"endpoint_id": endpoint_id}
    state = value(conn, SQL["lock_endpoint"], params)
    if not isinstance(state, str):
        raise NotFound
    configuring.require_active(state)
    reach = {str(row[0]) for row in conn.execute(SQL["read_reach"], params).fetchall()}
    if not reach.issuperset(queues):
        raise Forbidden("The grant does not include every one of these queues.", field="queues")
    used = value(conn, SQL["read_count"], params)
    if not isinstance(used, int) or used >= rules.most:
        raise CeilingExceeded(
            f"The endpoint has its {rules.most} notify hook(s) already."
            if rules.most
            else "Notify hooks are turned off on this server."
        )


def _row(db: Database, endpoint_id: UUID, made: MintedHook) -> dict[str, object]:
    return {
        "id": made.id,
        "endpoint_id": endpoint_id,
        "url": made.url,
        "secret": db.sealer.seal(made.signing_secret, str(made.id)),
        "queues": list(made.queues),
        "ignore_presence": made.ignore_presence,
    }


def _lock_as(conn: Connection, human: Human, endpoint_id: str, hook_id: str) -> _Locked:
    params = {
        "hook_id": parse_uuid(hook_id),
        "endpoint_id": parse_uuid(endpoint_id),
        "human_id": human.id,
    }
    found = one(conn, SQL["lock_hook_of_human"], params, _Locked)
    if found is None:
        raise NotFound
    configuring.require_active(found.state)
    return found
