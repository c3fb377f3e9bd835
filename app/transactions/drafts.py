"""The vend wizard's draft: what was answered so far, kept for 24 hours (data.md, "drafts")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db import minting
from app.db.database import Database, jsonb, one, run
from app.db.statements import load
from app.domain.callers import Human
from app.domain.values import Json
from app.domain.vend_answers import VendAnswers, read_answers

SQL = load("drafts")


@dataclass(frozen=True, slots=True, kw_only=True)
class VendDraft:
    """One human's wizard in progress; `id` is also what keeps a confirmation from acting twice."""

    id: UUID
    answers: VendAnswers
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    id: UUID
    data: Json
    updated_at: datetime


def vend_draft(db: Database, human: Human) -> VendDraft | None:
    """The human's draft, None when there is none or its 24 hours are over."""
    with db.reading() as conn:
        row = one(conn, SQL["read_vend_draft"], {"human_id": human.id}, _Row)
    if row is None:
        return None
    return VendDraft(id=row.id, answers=read_answers(row.data), updated_at=row.updated_at)


def save_vend(db: Database, human: Human, changes: Mapping[str, Json]) -> None:
    """Merge the answers of one step into the human's draft, which begins here when there is none.

    The keys are the fields of VendAnswers. Another 24 hours begin.
    """
    params = {"id": minting.new_id(), "human_id": human.id, "changes": jsonb({**changes})}
    with db.transaction() as conn:
        run(conn, SQL["upsert_vend_draft"], params)


def forget_vend(db: Database, human: Human) -> None:
    """Delete the human's draft, there or not."""
    with db.transaction() as conn:
        run(conn, SQL["delete_vend_draft"], {"human_id": human.id})
