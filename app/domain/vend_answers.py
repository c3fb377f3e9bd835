"""What the vend wizard has been told so far: its steps, its answers, and what is still open."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from app.domain.errors import Conflict
from app.domain.values import Json
from app.domain.vending import VendRequest

STEPS = ("agent", "queues", "verbs", "webhook", "lifetime", "confirm")
# Stands for the absence of a lifetime, so that "not asked yet" is something else.
UNTIL_REVOKED = "until revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class VendAnswers:
    """The answers of one draft; None or empty is a question not answered yet.

    `team` is the slug of the team that is to own the endpoint, None for the person who vends; it
    is asked together with `name`.
    `lifetime` is UNTIL_REVOKED or a text such as `7d`; `lease` is seconds, None for no default of
    its own, and is asked together with `lifetime`.
    """

    name: str | None = None
    team: str | None = None
    queues: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    source: str | None = None
    lifetime: str | None = None
    lease: int | None = None


def first_open_step(answers: VendAnswers) -> str:
    """The first step that has no answer; `confirm` when all have (board.md, "Wizard pattern")."""
    given = {
        "agent": answers.name,
        "queues": answers.queues,
        "verbs": answers.verbs,
        "webhook": answers.source,
        "lifetime": answers.lifetime,
    }
    return next((step for step, answer in given.items() if not answer), STEPS[-1])


def is_reached(answers: VendAnswers, step: str) -> bool:
    """Say whether every step before this one has its answer."""
    return STEPS.index(step) <= STEPS.index(first_open_step(answers))


def read_answers(data: Json) -> VendAnswers:
    """The answers a stored draft holds; whatever is not of its shape counts as not answered."""
    held = data if isinstance(data, dict) else {}
    lease = held.get("lease")
    return VendAnswers(
        name=_text(held.get("name")),
        team=_text(held.get("team")),
        queues=_texts(held.get("queues")),
        verbs=_texts(held.get("verbs")),
        source=_text(held.get("source")),
        lifetime=_text(held.get("lifetime")),
        lease=lease if isinstance(lease, int) and not isinstance(lease, bool) else None,
    )


def request_of(answers: VendAnswers) -> VendRequest:
    """The request these answers make; Conflict while one is missing."""
    if answers.name is None or answers.source is None or first_open_step(answers) != STEPS[-1]:
        raise Conflict("Some questions have no answer yet.")
    return VendRequest(
        name=answers.name,
        queues=answers.queues,
        verbs=answers.verbs,
        lifetime=None if answers.lifetime == UNTIL_REVOKED else answers.lifetime,
        default_lease_ttl_seconds=answers.lease,
        webhook_source_type=answers.source,
        team=answers.team,
    )


def fingerprint(answers: VendAnswers) -> str:
    """A short hex digest: two drafts with one digest were answered alike."""
    said: list[Json] = [
        answers.name, answers.team, [*answers.queues], [*answers.verbs], answers.source,
        answers.lifetime, answers.lease,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(each for each in value if isinstance(each, str))
