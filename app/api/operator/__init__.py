"""/api/v1: what a human may do by API, one file per resource on one blueprint."""

from __future__ import annotations

from app.api.operator import (
    admission,
    agents,
    endpoints,
    events,
    me,
    presence,
    team_grants,
    team_groups,
    team_invites,
    team_members,
    team_queues,
    teams,
    todos,
    webhooks,
)
from app.api.operator.door import bp

__all__ = [
    "admission", "agents", "bp", "endpoints", "events", "me", "presence", "team_grants",
    "team_groups", "team_invites", "team_members", "team_queues", "teams", "todos", "webhooks",
]  # fmt: skip
