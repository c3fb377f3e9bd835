"""Help: what a claim costs, what 0 means, what resets when, and how accessible this is."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.domain.errors import NotFound
from app.edge.identify import identify_session

bp = Blueprint("help", __name__)
bp.before_request(identify_session)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A page of help: its part of the address, its heading, and what it answers."""

    slug: str
    heading: str
    answers: str


TOPICS = (
    Topic(slug="claims", heading="What a claim costs",
          answers="What spends a unit of a budget, and what does not."),
    Topic(slug="budgets", heading="Budgets: limits, pauses and resets",
          answers="What the two limits do, what 0 means, and what resets when."),
    Topic(slug="queues", heading="Queues and their status",
          answers="What each status word means, and what to do about it."),
    Topic(slug="todos", heading="Todos: states, retries and dead letters",
          answers="What happens to a todo from its creation to its end."),
    Topic(slug="workers", heading="How a worker should wait",
          answers="What an agent does when a queue admits no claim."),
    Topic(slug="endpoints", heading="Endpoints and credentials",
          answers="What an agent connects with, what it may do, and how to take that back."),
    Topic(slug="webhooks", heading="Webhooks and routes",
          answers="How other services put todos into queues."),
    Topic(slug="teams", heading="Teams and what they share",
          answers="Who may do what in a team, and how several endpoints share one budget."),
    Topic(slug="settings", heading="Your settings",
          answers="Time zone, theme, announcements, tokens and other devices."),
    Topic(slug="keyboard", heading="Using Switchboard by keyboard",
          answers="How to reach everything without a mouse."),
    Topic(slug="accessibility", heading="Accessibility statement",
          answers="What was tested, what was not, and how to report a barrier."),
)  # fmt: skip
_BY_SLUG = {topic.slug: topic for topic in TOPICS}


@bp.get("/help")
def index() -> ResponseReturnValue:
    """Every topic with what it answers; also for someone who is not signed in."""
    return render_template("help/index.html", heading="Help", topics=TOPICS)


@bp.get("/help/<slug>")
def topic(slug: str) -> ResponseReturnValue:
    """One topic; NotFound for any other word."""
    found = _BY_SLUG.get(slug)
    if found is None:
        raise NotFound
    return render_template(f"help/{found.slug}.html", heading=found.heading)
