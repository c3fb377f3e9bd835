"""Policies, statuses and usage as the JSON bodies of both doors (operator-api.md, agent-api.md)."""

from __future__ import annotations

from app.api.shapes import Body
from app.domain.admission import Admitted, Deferral, status_body, usage_body
from app.domain.policy import policy_body
from app.domain.values import rfc3339
from app.reads.admission import GrantedQueue, QueueStatus
from app.reads.budgets import Budget, BudgetDetail, Change, WindowUsed


def granted_queue(one: GrantedQueue) -> Body:
    """One entry of admission_status."""
    return {"queue": one.queue, **_judged(one.status), "pending": one.pending}


def set_policy(queue: str, saved: Budget) -> Body:
    """What set_admission_policy answers; `queue` as the agent named it."""
    return {"queue": queue, **_judged(saved.status)}


def listed_budget(one: Budget) -> Body:
    """One entry of GET /admission."""
    return {"scope": one.scope, "queue": one.queue, **_judged(one.status)}


def budget(one: Budget) -> Body:
    """A queue's policy as PUT answers it: `revision` beside it, null with it."""
    status = one.status
    has_policy = status is not None and status.policy is not None
    return listed_budget(one) | {
        "revision": status.revision if status is not None and has_policy else None
    }


def budget_detail(detail: BudgetDetail) -> Body:
    """A queue's policy as GET answers it: with what else binds, windows and audit."""
    status = detail.budget.status
    decision = Admitted() if status is None else status.decision
    also = decision.also_binding if isinstance(decision, Deferral) else ()
    return budget(detail.budget) | {
        "also_binding": [str(reason) for reason in also],
        "windows": [_window(each) for each in detail.windows],
        "audit": [_change(each) for each in detail.changes],
    }


def _judged(status: QueueStatus | None) -> Body:
    """Policy, usage and status; without a policy nulls and admitted (R35)."""
    if status is None:
        return {"policy": None, "usage": None, "status": status_body(Admitted())}
    policy, usage = status.policy, status.usage
    return {
        "policy": None if policy is None else policy_body(policy),
        "usage": None if policy is None or usage is None else usage_body(policy, usage),
        "status": status_body(status.decision),
    }


def _window(one: WindowUsed) -> Body:
    return {
        "window_start": rfc3339(one.window_start),
        "used": one.used,
        "retries": one.retries,
        "takeovers": one.takeovers,
        "limit_at_last_charge": one.limit_at_last_charge,
    }


def _change(one: Change) -> Body:
    """An audit record; `endpoint` only when an agent wrote."""
    agent: Body = {}
    if one.endpoint_id is not None:
        agent["endpoint"] = {"id": str(one.endpoint_id), "slug": one.endpoint_slug}
    return {
        "at": rfc3339(one.at),
        "action": one.action,
        "actor": {"human_id": str(one.human_id), "name": one.human_name},
        **agent,
        "before": one.before,
        "after": one.after,
        "reason": one.reason,
    }
