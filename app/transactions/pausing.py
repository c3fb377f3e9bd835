"""Pause and Resume: a limit of 0 and back again, each a change with its audit row (R17, R68)."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.database import Connection, Database, one
from app.db.statements import load
from app.domain import resuming
from app.domain.callers import Human
from app.domain.errors import Conflict
from app.domain.policy import Policy, policy_body
from app.domain.queues import QueueAddress
from app.domain.resuming import Ask, Changed, Clear, Restore, Resumption
from app.domain.values import Json
from app.reads import admission, manageable
from app.reads.admission import QueueStatus
from app.transactions import policies

SQL = load("pausing")

_LOOKS = 3
"""How often a pause looks again when somebody changes the policy under it."""

_UNJUDGED = "The budget cannot be judged, so no claim is admitted now. Edit it to replace it."
_OPEN = "The queue is not paused."
_CHANGED = "The budget has been changed since you looked."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    revision: int
    before: Json
    after: Json


def pause(db: Database, human: Human, address: QueueAddress, *, reason: str | None) -> bool:
    """Set the in-flight cap to 0, keeping the rest; without a policy one is created (R68).

    False, and nothing written, when a limit is 0 already, however it came to be. A pause does not
    lose to an edit: it is set on whatever is stored then. Raises as `policies.save` does, and
    Conflict for a policy that cannot be judged.
    """
    for _ in range(_LOOKS):
        status = _status(db, human, address)
        policy = None if status is None else _judged(status)
        if policy is not None and policy.pauses:
            return False
        try:
            body = _paused(policy)
            policies.save(db, human, address, body, reason=reason, revision=_revision(status))
        except Conflict as stale:
            if "revision" not in stale.extras:
                raise
        else:
            return True
    raise Conflict(_CHANGED)


def resume(
    db: Database, human: Human, address: QueueAddress, *, revision: int, reason: str | None
) -> Resumption:
    """Put back what was in force before the pause; an Ask says why nothing was done (R68).

    `revision` is the policy's as the caller saw it. Raises as `policies.save` does, and Conflict
    when the queue is not paused any more.
    """
    with db.reading() as conn:
        queue = manageable.find_active(conn, human, address)
        status = admission.statuses(conn, [queue.queue_id], counts_all=False).get(queue.queue_id)
        recorded = _recorded(conn, queue.queue_id)
    policy = None if status is None else _judged(status)
    if policy is None or not policy.pauses:
        raise Conflict(_OPEN)
    if recorded is None or not recorded.revision == _revision(status) == revision:
        raise Conflict(_CHANGED, revision=_revision(status))
    found = resuming.resumed(policy, _newest(recorded))
    match found:
        case Restore():
            body = policy_body(found.policy)
            policies.save(db, human, address, body, reason=reason, revision=revision)
        case Clear():
            policies.clear(db, human, address, reason=reason, revision=revision)
        case Ask():
            pass
    return found


def _status(db: Database, human: Human, address: QueueAddress) -> QueueStatus | None:
    with db.reading() as conn:
        queue = manageable.find_active(conn, human, address)
        return admission.statuses(conn, [queue.queue_id], counts_all=False).get(queue.queue_id)


def _judged(status: QueueStatus) -> Policy:
    if status.policy is None:
        raise Conflict(_UNJUDGED)
    return status.policy


def _paused(policy: Policy | None) -> dict[str, Json]:
    return {**({} if policy is None else policy_body(policy)), "max_in_flight": 0}


def _revision(status: QueueStatus | None) -> int | None:
    return policies.NO_POLICY if status is None else status.revision


def _recorded(conn: Connection, queue_id: int) -> _Recorded | None:
    return one(conn, SQL["read_newest_change"], {"queue_id": queue_id}, _Recorded)


def _newest(recorded: _Recorded) -> Changed | None:
    if recorded.after is None:
        return None
    return Changed(before=recorded.before, after=recorded.after)
