"""Why a queue's work waits: the words every surface uses for it (SPEC-0030 REQ-6, R41)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Reason(StrEnum):
    """Why a queue is deferred. Status words, never stored."""

    ADMISSION_UNAVAILABLE = "admission_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One entry of the deferred list: a queue with pending work that admits no claim now."""

    queue: str
    reason: Reason
    pending: int
    next_eligible_at: datetime | None
    exact: bool
