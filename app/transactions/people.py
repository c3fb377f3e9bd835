"""Humans and their proofs: the first human, sign-in links, sessions and operator tokens."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection

from app.db import minting
from app.db.database import Database, one, run, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.tokens import OPERATOR_PREFIX, check_name, hash_token

SQL = load("people")

FIRST_HUMAN_NAME = "operator"
# Any fixed number nobody else locks; spelled from the letters "first".
_FIRST_HUMAN_LOCK = 0x6669727374


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owned:
    human_id: UUID


def create_human(db: Database, *, display_name: str, email: str | None = None) -> Human:
    """Make a human who signs in by link; raises InvalidArgument on `name` or `email`."""
    label = None if email is None else check_name(email, "email", 254)
    with db.transaction() as conn:
        return _insert_human(conn, check_name(display_name), label)


def first_human(db: Database) -> Human | None:
    """Make the first human when there is none yet, once over all processes; None when there is.

    (identity.md, "One-time sign-in link")
    """
    with db.transaction() as conn:
        value(conn, SQL["lock_first_human"], {"key": _FIRST_HUMAN_LOCK})
        if not value(conn, SQL["read_is_empty"], {}):
            return None
        return _insert_human(conn, FIRST_HUMAN_NAME, None)


def login_link(db: Database, human_id: UUID, *, once: str | None = None) -> str:
    """Mint a one-time sign-in token, valid for 15 minutes.

    The caller builds `<base>/auth/link/<token>` and never logs it. `once` names the form that asks,
    with its session: sent twice, it makes one link and both answers show it. Raises NotFound
    without such a human, or when that link is spent by now. (identity.md)
    """
    token = minting.link_token()
    if once:
        token = db.sealer.once_token(human_id, f"link {once}")
    _insert_proof(db, "insert_login_link", token, human_id, {})
    return token


def consume_login_link(db: Database, token: str) -> str | None:
    """Use a sign-in link up and start a session: the session's cookie token.

    None when the link was used, has expired or never was (410 on the web).
    """
    with db.transaction() as conn:
        used = one(conn, SQL["mark_link_used"], {"token_hash": hash_token(token)}, _Owned)
        if used is None:
            return None
        return _insert_session(conn, used.human_id, None, None)


def create_session(
    db: Database, human_id: UUID, *, issuer: str | None = None, provider_sub: str | None = None
) -> str:
    """Start a session for a human who proved themselves elsewhere: the cookie token."""
    with db.transaction() as conn:
        return _insert_session(conn, human_id, issuer, provider_sub)


def end_session(db: Database, token: str) -> None:
    """Forget a session; an unknown one is no error, its owner is signed out either way."""
    with db.transaction() as conn:
        run(conn, SQL["delete_session"], {"token_hash": hash_token(token)})


def mint_operator_token(
    db: Database, human_id: UUID, name: str | None = None, *, once: str | None = None
) -> str:
    """Mint an operator token (`sbo_...`), valid until revoked and shown once.

    `once` names the form that asks, with its session: sent twice, it mints one token and both
    answers show it.
    Raises NotFound without such a human, or when that token is revoked by now; InvalidArgument on
    `name`. (identity.md)
    """
    token = minting.operator_token()
    if once:
        token = OPERATOR_PREFIX + db.sealer.once_token(human_id, f"operator {once}")
    label = None if name is None else check_name(name)
    _insert_proof(db, "insert_operator_token", token, human_id, {"name": label})
    return token


def revoke_operator_token(db: Database, human: Human, token_hash: str) -> None:
    """Revoke one of the human's own tokens, at once in every process; NotFound otherwise."""
    with db.transaction() as conn:
        params = {"token_hash": token_hash, "human_id": human.id}
        if run(conn, SQL["mark_operator_token_revoked"], params) == 0:
            raise NotFound


def _insert_human(conn: Connection, display_name: str, email: str | None) -> Human:
    params = {"id": minting.new_id(), "display_name": display_name, "email": email}
    human = one(conn, SQL["insert_human"], params, Human)
    if human is None:
        raise NotFound
    return human


def _insert_proof(
    db: Database, statement: str, token: str, human_id: UUID, more: dict[str, object]
) -> None:
    params = {"token_hash": hash_token(token), "human_id": human_id, **more}
    with db.transaction() as conn:
        if one(conn, SQL[statement], params, _Owned) is None:
            raise NotFound


def _insert_session(
    conn: Connection, human_id: UUID, issuer: str | None, provider_sub: str | None
) -> str:
    token = minting.link_token()
    params = {
        "token_hash": hash_token(token),
        "human_id": human_id,
        "issuer": issuer,
        "provider_sub": provider_sub,
    }
    run(conn, SQL["insert_session"], params)
    return token
