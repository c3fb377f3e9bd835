"""Invites to a team: a link that is worth one membership, once (operator-api.md, "Teams").

An invite gives no more than its maker may give at the moment it is accepted: who was removed or
lost the role cannot come back through a link made before.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.db import minting
from app.db.database import Connection, Database, one, run, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import Conflict, NotFound
from app.domain.references import parse_uuid
from app.domain.teams import check_email, check_role, rank, require_grant
from app.domain.tokens import hash_token
from app.transactions import team_changes

SQL = load("team_invites")


@dataclass(frozen=True, slots=True, kw_only=True)
class MintedInvite:
    """A fresh invite; `token` is the last part of its link and shown this once."""

    id: UUID
    email: str
    role: str
    expires_at: datetime
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The team that was joined, and the role held there now."""

    slug: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InviteSeen:
    """What the holder of a live link may know before joining."""

    display_name: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Minted:
    id: UUID
    email: str
    role: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Invite:
    id: UUID
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Used:
    id: UUID
    email: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Locked:
    id: UUID
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Roles:
    manual: str | None
    strongest: str | None


def create(
    db: Database, human: Human, ref: str, email: str, role: str, *, once: str | None = None
) -> MintedInvite:
    """Make an invite, valid for 7 days and once; the link is `<base>/invites/<token>`.

    `email` is a label. `once` names the form that asks: sent twice, it makes one invite and both
    answers show it. Raises NotFound (also when that invite is revoked by now), RoleRequired,
    RoleCeiling for a role above one's own, InvalidArgument naming the field.
    """
    label, wanted = check_email(email), check_role(role)
    token = db.sealer.once_token(human.id, f"invite {once}") if once else minting.link_token()
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "admin")
        require_grant(team.role, wanted)
        params = {
            "id": minting.new_id(),
            "team_id": team.id,
            "email": label,
            "role": wanted,
            "token_sha256": hash_token(token),
            "human_id": human.id,
        }
        is_new = run(conn, SQL["insert_invite"], params) == 1
        minted = one(conn, SQL["read_minted"], params, _Minted)
        if minted is None:
            raise NotFound
        if is_new:
            team_changes.audit(
                conn,
                team.id,
                human.id,
                "invite_created",
                id=str(minted.id),
                email=label,
                role=wanted,
            )
    if is_new:
        team_changes.note("invite_created", team.id, human.id, invite=minted.id, role=wanted)
    return MintedInvite(
        id=minted.id,
        email=minted.email,
        role=minted.role,
        expires_at=minted.expires_at,
        token=token,
    )


def revoke(db: Database, human: Human, ref: str, invite_id: str) -> UUID:
    """Make an invite worthless; revoking it again changes nothing.

    Raises NotFound, RoleRequired, Conflict for one that was accepted: remove the member instead.
    """
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "admin")
        params = {"id": parse_uuid(invite_id), "team_id": team.id}
        found = one(conn, SQL["read_invite"], params, _Invite)
        if found is None:
            raise NotFound
        if value(conn, SQL["read_is_accepted"], params):
            raise Conflict("The invite was accepted. Remove the member instead.")
        is_new = run(conn, SQL["mark_revoked"], params) == 1
        if is_new:
            team_changes.audit(
                conn, team.id, human.id, "invite_revoked", id=str(found.id), email=found.email
            )  # fmt: skip
    if is_new:
        team_changes.note("invite_revoked", team.id, human.id, invite=found.id)
    return found.id


def accept(db: Database, human: Human, token: str) -> Accepted:
    """Join a team by a live invite and use it up; of many at once, one does.

    A member keeps the role held when it is stronger. Used, revoked, expired, unknown, made by
    somebody who may not give that role any longer: NotFound. Raises TeamCeilingReached.
    """
    params = {"token_sha256": hash_token(token), "human_id": human.id}
    with db.transaction() as conn:
        value(conn, SQL["lock_accepter"], params)
        team = one(conn, SQL["lock_invited_team"], params, _Locked)
        used = one(conn, SQL["mark_accepted"], params, _Used)
        if team is None or used is None:
            raise NotFound
        strongest = _join(db, conn, human, team.id, used.role)
        team_changes.audit(
            conn,
            team.id,
            human.id,
            "invite_accepted",
            id=str(used.id),
            email=used.email,
            role=used.role,
            has_role=strongest,
        )
    team_changes.note("invite_accepted", team.id, human.id, role=strongest)
    return Accepted(slug=team.slug, role=strongest)


def look(db: Database, token: str) -> InviteSeen | None:
    """What a live link offers; None for any other. Changes nothing."""
    with db.reading() as conn:
        return one(conn, SQL["read_live"], {"token_sha256": hash_token(token)}, InviteSeen)


def joined_by(db: Database, human: Human, token: str) -> str | None:
    """The slug of the team that the human joined by this link themselves, and is in still; None
    for every other link.
    """
    params = {"token_sha256": hash_token(token), "human_id": human.id}
    with db.reading() as conn:
        found = value(conn, SQL["read_joined"], params)
    return found if isinstance(found, str) else None


def _join(db: Database, conn: Connection, human: Human, team_id: UUID, role: str) -> str:
    params = {"team_id": team_id, "human_id": human.id}
    held = one(conn, SQL["read_roles"], params, _Roles) or _Roles(manual=None, strongest=None)
    if held.manual is None:
        team_changes.require_place(db, conn, human)
    if held.manual is None or rank(held.manual) < rank(role):
        team_changes.put_member(conn, team_id, human.id, role)
    return max(role, held.strongest or role, key=rank)
