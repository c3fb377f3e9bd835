"""Who makes a request: a human or a vended endpoint, and what a grant lets them name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.errors import Forbidden

# A grant of one verb carries another that reads the same thing (agent-api.md, "Grants").
IMPLIED = {"get_todo": ("list_todos",), "admission_status": ("claim", "claim_next")}
ALWAYS_GRANTED = frozenset({"clock_in", "clock_out", "presence", "whoami"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Human:
    """The accountable principal; signs in and owns agents."""

    id: UUID
    display_name: str
    email: str | None = None

    @property
    def owner(self) -> str:
        """The lease owner string of a claim made on the board."""
        return f"op:{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A vended capability: a credential with an immutable scope of queues and verbs."""

    id: UUID
    slug: str
    agent_id: UUID
    agent_name: str
    queues: tuple[str, ...]
    verbs: frozenset[str]
    owner_human_id: UUID | None
    owner_team_id: UUID | None
    vended_by_human_id: UUID
    expires_at: datetime | None = None
    default_lease_ttl_seconds: int | None = None

    @property
    def owner(self) -> str:
        """The lease owner string, shared by every session of the agent."""
        return f"agent:{self.agent_id}"


def has_verb(endpoint: Endpoint, verb: str) -> bool:
    """Say whether the grant names the verb, or one that implies it."""
    return (
        verb in ALWAYS_GRANTED
        or verb in endpoint.verbs
        or any(other in endpoint.verbs for other in IMPLIED.get(verb, ()))
    )


def require_verb(endpoint: Endpoint, verb: str) -> None:
    """Raise Forbidden unless the endpoint's grant names the verb (agent-api.md, "Grants")."""
    if not has_verb(endpoint, verb):
        raise Forbidden(f"The grant does not include {verb}.")
