"""What a caller may do to a claim it holds, or held: judged on facts read under the todo's lock."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from app.domain.errors import Conflict
from app.domain.todos import State


class Ending(StrEnum):
    """How a caller's word ends an attempt (todo_attempts.outcome)."""

    COMPLETED = "completed"
    FAILED = "failed"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Held:
    """A todo under its lock."""

    id: str
    queue_id: int
    state: str
    owner: str | None
    attempt: int
    max_attempts: int
    attempts_total: int


@dataclass(frozen=True, slots=True)
class LatestAttempt:
    """The newest claim of the todo: whose, how it ended, and the hash of its lease token."""

    owner: str
    claimer_endpoint_id: UUID | None
    outcome: str | None
    lease_token_hash: bytes | None


def require_holder(
    held: Held, latest: LatestAttempt | None, *, owner: str, token_hash: bytes | None, fenced: bool
) -> None:
    """Raise Conflict unless `owner` holds the lease and says its fence right (todos.md, "Fence").

    A lapsed lease that nobody took over or reaped still belongs to its owner. `fenced` false is
    the board, which ignores the fence.
    """
    if held.state != State.CLAIMED or held.owner != owner or latest is None:
        raise Conflict("The todo is not claimed by you now.")
    if fenced and not _same_fence(latest, token_hash):
        raise Conflict("The lease token is not that of the open attempt.")


def is_repeat(
    latest: LatestAttempt | None,
    ending: Ending,
    *,
    owner: str,
    token_hash: bytes | None,
    fenced: bool,
) -> bool:
    """Say whether the caller repeats a complete or fail that already happened (R66).

    The same owner, the latest attempt, the same outcome and, when fenced, the same fence.
    """
    return (
        ending is not Ending.RELEASED
        and latest is not None
        and latest.owner == owner
        and latest.outcome == ending
        and (not fenced or _same_fence(latest, token_hash))
    )


def _same_fence(latest: LatestAttempt, token_hash: bytes | None) -> bool:
    if latest.lease_token_hash is None or token_hash is None:
        return latest.lease_token_hash is None and token_hash is None
    return hmac.compare_digest(latest.lease_token_hash, token_hash)
