"""People who come through a sign-in provider: known by (issuer, subject), never by email."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection

from app.db import minting
from app.db.database import Database, one
from app.db.statements import load
from app.domain.enrollment import Enrollment
from app.domain.errors import Forbidden
from app.transactions import membership, people, team_groups
from app.transactions.membership import Lost

SQL = load("provider_people")

_SUSPENDED = "Your account is suspended, so you were not signed in."
_NOT_LET_IN = (
    "The sign-in provider knows you, but this server lets in nobody new by that way. Ask the"
    " person who runs it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A person as the provider's ID token describes them; only (issuer, subject) is identity.

    `verified_email` is the address when the provider says that it verified it.
    """

    issuer: str
    subject: str
    display_name: str
    email: str | None
    verified_email: str | None
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    id: UUID
    is_suspended: bool


def sign_in(db: Database, proven: Proven, enrollment: Enrollment) -> str:
    """Make or find the human of (issuer, subject) and start a session: the cookie token.

    The groups and the address are those of this sign-in; the name stays as it was first told. In
    the same transaction the groups make the human a member where a team has linked them, and no
    longer one where only a group did that they have not any more: what was held there is released.
    Raises Forbidden for a suspended human, and for a newcomer whom the enrollment does not admit.
    (identity.md, "OIDC login", "Teams")
    """
    with db.transaction() as conn:
        human = _refresh(conn, proven)
        if human is None:
            if not enrollment.admits(proven.verified_email):
                raise Forbidden(_NOT_LET_IN)
            human = _enroll(conn, proven)
        lost = _follow_groups(conn, human, proven)
    for each in lost:
        membership.announce(db, each)
    if human.is_suspended:
        raise Forbidden(_SUSPENDED)
    return people.create_session(
        db, human.id, issuer=proven.issuer, provider_sub=proven.subject
    )


def _refresh(conn: Connection, proven: Proven) -> _Known | None:
    return one(conn, SQL["mark_known"], _params(proven), _Known)


def _enroll(conn: Connection, proven: Proven) -> _Known:
    params = {
        "id": minting.new_id(), "display_name": proven.display_name, **_params(proven)
    }  # fmt: skip
    human = one(conn, SQL["insert_newcomer"], params, _Known)
    assert human is not None  # an insert that updates on conflict always returns its row
    return human


def _follow_groups(conn: Connection, human: _Known, proven: Proven) -> list[Lost]:
    # A suspended person's row is left as it is, and so are their memberships.
    return [] if human.is_suspended else team_groups.sync(conn, human.id, proven.groups)


def _params(proven: Proven) -> dict[str, object]:
    return {
        "issuer": proven.issuer,
        "subject": proven.subject,
        "email": proven.email,
        "groups": list(proven.groups),
    }
