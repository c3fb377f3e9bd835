"""A policy's row as it is stored, whether or not a policy can be made of it (REQ-9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPolicy:
    """A live policy as its columns, and what it is judged by, by the database's clock at `at`."""

    queue_id: int
    policy_id: UUID
    revision: int
    max_in_flight: int | None
    max_claims_per_window: int | None
    window_period: str | None
    window_tz: str | None
    window_start: str | None
    window_weekday: str | None
    in_flight: int
    earliest_live_lease: datetime | None
    at: datetime

    @property
    def body(self) -> dict[str, Json]:
        """A row as `policy_body` spells it, although no policy could be made of it."""
        window: dict[str, Json] = {
            "period": self.window_period,
            "tz": self.window_tz,
            "start": self.window_start,
            "weekday": self.window_weekday,
        }
        has_window = any(part is not None for part in window.values())
        return {
            "max_in_flight": self.max_in_flight,
            "max_claims_per_window": self.max_claims_per_window,
            "window": window if has_window else None,
        }
