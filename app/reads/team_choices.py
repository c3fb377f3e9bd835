"""What the forms of pages offer a person of their teams: owners, queues to grant, targets."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Database, many
from app.db.statements import load
from app.domain.callers import Human

SQL = load("team_choices")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachable:
    """A team's queue an endpoint drains (`is_granted`) or could; `queue` is its display name,
    `team` a slug, `held` how many of its todos the endpoint has claimed.
    """

    queue_id: int
    team: str
    name: str
    queue: str
    is_granted: bool
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slug:
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    queue: str


def administered(db: Database, human: Human) -> list[str]:
    """The slugs of the teams the human may vend for, in order."""
    with db.reading() as conn:
        found = many(conn, SQL["read_administered"], {"human_id": human.id}, _Slug)
    return [each.slug for each in found]


def reachable(db: Database, human: Human, endpoint_id: UUID) -> list[Reachable]:
    """The team queues that an endpoint drains, or that the human may grant it, by name.

    None for an endpoint the human may not configure. (operator-api.md, "Teams")
    """
    params = {"human_id": human.id, "endpoint_id": endpoint_id}
    with db.reading() as conn:
        return many(conn, SQL["read_reachable"], params, Reachable)


def targets(db: Database, human: Human) -> list[str]:
    """The display names of the team queues that a webhook made by the human may deliver to."""
    with db.reading() as conn:
        found = many(conn, SQL["read_targets"], {"human_id": human.id}, _Target)
    return [each.queue for each in found]
