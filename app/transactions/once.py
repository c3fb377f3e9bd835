"""Vending and minting by a form: done once however often it arrives, its secrets for one look.

A form answers 303, so that a reload repeats nothing, and a double click makes the browser drop the
first answer and show the second. So the secrets cannot travel in an answer to the POST: they would
be lost exactly then. They wait in `drafts`, sealed like every stored secret and bound to the row's
id, until the page after the redirect has shown them, ten minutes at most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from app.db import minting
from app.db.database import Connection, Database, Rollback, jsonb, one, run
from app.db.sealing import SealBroken
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import Conflict, NotFound, RoleRequired
from app.domain.isolating import isolate
from app.domain.values import Json
from app.domain.vend_answers import VendAnswers, fingerprint, read_answers, request_of
from app.transactions import endpoints, webhooks
from app.transactions.endpoints import Vended
from app.transactions.webhook_secrets import MintedWebhook

SQL = load("once")

VENDED = "vended"
WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What an act made: the endpoint's or webhook's id, and its secrets by name at the first look.

    `secrets` is None at every later look, and when ten minutes passed before the first.
    """

    subject: UUID
    secrets: Mapping[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    id: UUID
    kind: str
    data: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    data: Json
    is_over: bool


def new_act() -> UUID:
    """The name of one form, to be sent back with it."""
    return minting.new_id()


def vend(db: Database, human: Human, draft_id: UUID, seen: str) -> None:
    """Vend what the human's draft says and use the draft up, in one transaction.

    Nothing happens when this draft has been vended already. `seen` is the fingerprint of the
    answers the human reviewed: Conflict when they have changed since, and when the human may not
    vend for that team any more. NotFound without a draft, InvalidArgument naming the field when an
    answer cannot be used. (board.md, "Wizard pattern")
    """
    with db.transaction() as conn:
        draft = one(conn, SQL["lock_draft"], {"id": draft_id, "human_id": human.id}, _Draft)
        if draft is None:
            raise NotFound
        if draft.kind == VENDED:
            raise Rollback
        answers = read_answers(draft.data)
        if fingerprint(answers) != seen:
            raise Conflict("The answers were changed after this page was loaded. Read them again.")
        made = _vend(db, conn, human, answers)
        secrets = {"token": made.token, **_secrets(made.webhook)}
        _keep(db, conn, human, draft_id, VENDED, made.endpoint_id, secrets)


def create_webhook(
    db: Database, human: Human, act_id: UUID, ref: str, source_type: str, target_queue: str
) -> None:
    """As webhooks.create_as, once per `act_id`: the same form sent again does nothing."""
    with db.transaction() as conn:
        _begin(conn, human, act_id)
        made = webhooks.create_within(db, conn, human, ref, source_type, target_queue)
        _keep(db, conn, human, act_id, WEBHOOK, made.id, _secrets(made))


def rotate_webhook(db: Database, human: Human, act_id: UUID, webhook_id: str) -> None:
    """As webhooks.rotate_as, once per `act_id`: the same form sent again does nothing."""
    with db.transaction() as conn:
        _begin(conn, human, act_id)
        made = webhooks.rotate_within(db, conn, human, webhook_id)
        _keep(db, conn, human, act_id, WEBHOOK, made.id, _secrets(made))


def look(db: Database, human: Human, act_id: UUID | None, kind: str) -> Made:
    """What an act made; its secrets at the first look only. NotFound for another human's."""
    params = {"id": act_id, "human_id": human.id, "kind": kind}
    with db.transaction() as conn:
        kept = one(conn, SQL["lock_kept"], params, _Kept)
        if kept is None:
            raise NotFound
        made = _made(db, act_id, kept)
        if made.secrets is not None:
            run(conn, SQL["mark_looked_at"], params)
        return made


def _vend(db: Database, conn: Connection, human: Human, answers: VendAnswers) -> Vended:
    try:
        return endpoints.vend_within(db, conn, human, request_of(answers))
    except (NotFound, RoleRequired):
        if answers.team is None:
            raise
        raise Conflict(
            f"You may not vend for team {isolate(answers.team)} any more. Change the owner."
        ) from None


def _begin(conn: Connection, human: Human, act_id: UUID) -> None:
    params = {"id": act_id, "human_id": human.id, "kind": WEBHOOK}
    if run(conn, SQL["insert_act"], params) == 0:
        raise Rollback


def _keep(
    db: Database,
    conn: Connection,
    human: Human,
    act_id: UUID,
    kind: str,
    subject: UUID,
    secrets: dict[str, str],
) -> None:
    sealed = db.sealer.seal(json.dumps(secrets), str(act_id))
    data = jsonb({"subject": str(subject), "sealed": sealed})
    params = {"id": act_id, "human_id": human.id, "kind": kind, "data": data}
    run(conn, SQL["mark_kept"], params)
    run(conn, SQL["delete_surplus"], params)


def _secrets(made: MintedWebhook) -> dict[str, str]:
    signing = {} if made.signing_secret is None else {"signing_secret": made.signing_secret}
    return {"ingest_token": made.ingest_token, **signing}


def _made(db: Database, act_id: UUID | None, kept: _Kept) -> Made:
    held = kept.data if isinstance(kept.data, dict) else {}
    sealed = None if kept.is_over else held.get("sealed")
    return Made(
        subject=UUID(str(held["subject"])),
        secrets=_open(db, sealed, str(act_id)) if isinstance(sealed, str) else None,
    )


def _open(db: Database, sealed: str, context: str) -> dict[str, str] | None:
    try:
        opened = db.sealer.open(sealed, context)
    except SealBroken:
        return None  # the key was changed in these ten minutes: as if they were over
    found: dict[str, str] = json.loads(opened)
    return found
