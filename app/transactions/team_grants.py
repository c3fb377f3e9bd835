"""Which team queues an endpoint drains: granted and taken away (identity.md, "Teams")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from app.db.database import Connection, Database, many, run, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import GrantOutOfScope
from app.reads import team_queues
from app.reads.team_queues import TeamQueueRow
from app.reads.teams import TeamRow
from app.transactions import configuring, ending, team_changes
from app.transactions.configuring import Configurable
from app.transactions.ending import ClosedAttempt

SQL = load("team_grants")


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The endpoint, and the display name of the team queue it drains or no longer drains."""

    endpoint_id: UUID
    queue: str


@dataclass(frozen=True, slots=True)
class _Held:
    id: str


@dataclass(frozen=True, slots=True)
class _Taken:
    ids: list[str]
    closed: list[ClosedAttempt]


@dataclass(frozen=True, slots=True)
class _Named:
    endpoint: Configurable
    team: TeamRow
    queue: TeamQueueRow

    def params(self, human: Human) -> dict[str, object]:
        """What every statement here is told."""
        return {
            "human_id": human.id,
            "endpoint_id": self.endpoint.id,
            "team_id": self.team.id,
            "queue_id": self.queue.id,
        }

    def granted(self) -> Granted:
        """What the caller is told."""
        return Granted(endpoint_id=self.endpoint.id, queue=self.queue.queue)


def grant(db: Database, human: Human, endpoint_ref: str, team_ref: str, name: str) -> Granted:
    """Let an endpoint drain a team queue; granting it again changes nothing.

    Raises NotFound for an endpoint the human may not configure, outside the team and for an
    unknown queue, Conflict with `state` on a revoked endpoint, GrantOutOfScope when the endpoint's
    owner does not reach the team. (operator-api.md, "Teams")
    """
    with db.transaction() as conn:
        named = _named(conn, human, endpoint_ref, team_ref, name)
        params = named.params(human)
        if not value(conn, SQL["read_owner_reaches"], params):
            raise GrantOutOfScope
        is_new = run(conn, SQL["insert_grant"], params) == 1
        if is_new:
            _audit(conn, human, named, "queue_granted")
    if is_new:
        _tell(human, named, "queue_granted")
    return named.granted()


def ungrant(db: Database, human: Human, endpoint_ref: str, team_ref: str, name: str) -> Granted:
    """Take a team queue away from an endpoint; what it held there goes back in the same commit.

    It counts as a release (R47). Taking away what was not granted changes nothing. Raises NotFound
    and Conflict as `grant`.
    """
    with db.transaction() as conn:
        named = _named(conn, human, endpoint_ref, team_ref, name)
        taken = _take(conn, named.params(human))
        if taken is not None:
            _audit(conn, human, named, "queue_ungranted")
    if taken is not None:
        ending.tell_released(db, taken.ids, taken.closed)
        ending.give_back(db, (named.queue.id,), endpoint_ids=(named.endpoint.id,))
        _tell(human, named, "queue_ungranted")
    return named.granted()


def _named(conn: Connection, human: Human, endpoint_ref: str, team_ref: str, name: str) -> _Named:
    endpoint = configuring.find_active(conn, human, endpoint_ref)
    team = team_changes.lock(conn, human, team_ref, "member")
    return _Named(endpoint, team, team_queues.read(conn, human, team, name))


def _take(conn: Connection, params: Mapping[str, object]) -> _Taken | None:
    """Delete the grant and release what it held; None when there was no grant."""
    locked = _lock_held(conn, params)
    if run(conn, SQL["delete_grant"], params) == 0:
        return None
    # What was claimed while we waited for a lock above is held by now: look once more.
    ids = sorted({*locked, *_lock_held(conn, params)})
    released = many(conn, SQL["mark_held_released"], {**params, "ids": ids}, _Held)
    closed = ending.close_attempts(conn, [row.id for row in released], "released", "requeued")
    return _Taken(sorted(row.id for row in released), closed)


def _lock_held(conn: Connection, params: Mapping[str, object]) -> list[str]:
    return [row.id for row in many(conn, SQL["lock_held_todos"], params, _Held)]


def _audit(conn: Connection, human: Human, named: _Named, action: str) -> None:
    team_changes.audit(
        conn,
        named.team.id,
        human.id,
        action,
        queue=named.queue.name,
        endpoint=named.endpoint.slug,
    )


def _tell(human: Human, named: _Named, action: str) -> None:
    team_changes.note(
        action,
        named.team.id,
        human.id,
        queue=named.queue.name,
        endpoint=named.endpoint.slug,
    )
