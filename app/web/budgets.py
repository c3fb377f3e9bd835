"""Every policy the person may manage, on one page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.domain import policy_words
from app.domain.isolating import isolate
from app.edge.deps import database
from app.edge.identify import identify_session
from app.reads import budgets, headers
from app.reads.admission import QueueStatus
from app.reads.headers import SeenHeader
from app.web import guard, present_headers
from app.web.answers import viewer
from app.web.present_headers import HeaderView

bp = Blueprint("budgets", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLine:
    """One row: a queue with its owner, its policy in words, and its header."""

    header: HeaderView
    owner: str
    policy: str


@bp.get("/budgets")
def show_budgets() -> ResponseReturnValue:
    """The table; a person without a policy is told how to make one. A policy of an endpoint that
    is over can be read on its queue's page and managed by nobody (R35).
    """
    live = viewer()
    found = budgets.for_human_list(database(), live.human)
    ids = [each.status.queue_id for each in found if each.status is not None]
    seen = headers.headers_for(database(), live.human.id, ids)
    return render_template(
        "budgets.html",
        heading="Budgets",
        help_topic="budgets",
        lines=list(_lines(seen, live.zone)),
    )


def _lines(seen: list[SeenHeader], zone: str | None) -> Iterator[BudgetLine]:
    for each in seen:
        if each.status is not None and not each.is_revoked:
            yield BudgetLine(
                header=present_headers.header(each, zone),
                owner=each.endpoint or f"team {isolate(each.team or '')}",
                policy=_policy(each.status),
            )


def _policy(status: QueueStatus) -> str:
    if status.policy is None:
        return "cannot be judged"
    return policy_words.in_words(status.policy)
