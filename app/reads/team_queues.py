"""A team's queues and who drains them, and the team queues an endpoint was granted."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Connection, Database, many, one, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import NotFound
from app.domain.queues import is_queue_name
from app.domain.references import endpoint_reference
from app.reads import teams
from app.reads.teams import TeamRow

SQL = load("team_queue_list")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drainer:
    """An endpoint that may claim from the queue now."""

    endpoint_id: UUID
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamQueueRow:
    """A team's queue: its bare `name`, its display name `queue`, and who drains it, by slug."""

    id: int
    name: str
    queue: str
    has_policy: bool
    drained_by: tuple[Drainer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRow:
    """A team queue an endpoint was granted, by id and display name."""

    id: int
    queue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    id: int
    name: str
    queue: str
    has_policy: bool
    endpoint_ids: list[UUID]
    endpoint_slugs: list[str]


def list_queues(db: Database, human: Human, ref: str) -> list[TeamQueueRow]:
    """The queues of a team the human is in, by name. Raises NotFound, Unavailable.

    (operator-api.md, "Teams")
    """
    with db.reading() as conn:
        team = teams.find(conn, human, ref)
        params = {"human_id": human.id, "team_id": team.id}
        return [_row(found) for found in many(conn, SQL["list_queues"], params, _Found)]


def find(conn: Connection, human: Human, ref: str, name: str, role: str) -> TeamQueueRow:
    """One queue of a team in which the human holds `role` or more.

    Raises NotFound outside the team and for an unknown name, RoleRequired below the role.
    """
    return read(conn, human, teams.require(conn, human, ref, role), name)


def read(conn: Connection, human: Human, team: TeamRow, name: str) -> TeamQueueRow:
    """One queue of a team the human was found in. Raises NotFound."""
    params = {
        "human_id": human.id,
        "team_id": team.id,
        # A text no queue can bear runs the same statement: unknown and malformed look alike.
        "name": name if is_queue_name(name) else "",
    }
    found = one(conn, SQL["read_queue"], params, _Found)
    if found is None:
        raise NotFound
    return _row(found)


def granted_to(db: Database, human: Human, endpoint_ref: str) -> list[GrantRow]:
    """The team queues an endpoint was granted, by name, for who may configure the endpoint.

    Raises NotFound, Unavailable. (operator-api.md, "Teams")
    """
    params = {"human_id": human.id, **endpoint_reference(endpoint_ref)}
    with db.reading() as conn:
        endpoint_id = value(conn, SQL["read_endpoint_id"], params)
        if endpoint_id is None:
            raise NotFound
        wanted = {"human_id": human.id, "endpoint_id": endpoint_id}
        return many(conn, SQL["list_grants"], wanted, GrantRow)


def _row(found: _Found) -> TeamQueueRow:
    drainers = zip(found.endpoint_ids, found.endpoint_slugs, strict=True)
    return TeamQueueRow(
        id=found.id,
        name=found.name,
        queue=found.queue,
        has_policy=found.has_policy,
        drained_by=tuple(Drainer(endpoint_id=number, slug=slug) for number, slug in drainers),
    )
