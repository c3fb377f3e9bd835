"""The wizard's pages in words: headings, the review of the answers, what is shown once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.isolating import isolate
from app.domain.signatures import Source
from app.domain.todos import lease_seconds
from app.domain.vend_answers import STEPS, UNTIL_REVOKED, VendAnswers
from app.domain.verbs import ADMISSION
from app.reads.endpoint_pages import Granted
from app.web import vend_words

_PATH = "/endpoints/vend"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """Where a step stands: its page's heading, its address, and the way back."""

    heading: str
    action: str
    back: str
    back_label: str
    button: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One line of the review; `lines` are its parts, `warning` stands below them or is None."""

    question: str
    lines: list[str]
    warning: str | None
    href: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A text to copy: the id of its field, its label, its button, what it does."""

    id: str
    label: str
    copy: str
    hint: str
    text: str
    rows: int


def step_view(step: str, *, is_review: bool) -> StepView:
    """The frame of one step; one opened from the review leads back to it."""
    place = STEPS.index(step)
    before = STEPS[place - 1] if place else None
    suffix = "?review=1" if is_review else ""
    if is_review:
        back, label = f"{_PATH}/confirm", "Back to the review"
    elif before is None:
        back, label = "/endpoints", "Back to the endpoints"
    else:
        back, label = f"{_PATH}/{before}", f"Back to {before}"
    return StepView(
        heading=f"Vend an endpoint: {step} (step {place + 1} of {len(STEPS)})",
        action=f"{_PATH}/{step}{suffix}",
        back=back,
        back_label=label,
        button="Save and go back to the review" if is_review else _onward(place),
    )


def review(answers: VendAnswers) -> list[Answer]:
    """What will be vended, answer by answer, each with the link that changes it."""
    limits = [verb for verb in answers.verbs if verb in ADMISSION]
    return [
        _answer("agent", "Agent", [answers.name or ""], "Change the agent name"),
        _answer("agent", "Owner", _owner(answers.team), "Change the owner"),
        _answer("queues", "Queues", [*answers.queues], "Change the queues"),
        _answer(
            "verbs",
            "Verbs",
            [vend_words.verb(verb) for verb in answers.verbs],
            "Change the verbs",
            warning=_limits(limits, answers.team) if limits else None,
        ),
        _answer("webhook", "Webhook", _webhook(answers), "Change the webhook's source type"),
        _answer("lifetime", "Lifetime", _lifetime(answers), "Change the lifetime"),
    ]


def snippets(granted: Granted, token: str, base_url: str) -> list[Snippet]:
    """Ways to connect, ready to copy; each holds the credential (board.md, "Wizard pattern")."""
    curl = (
        f"curl -s -X POST '{base_url}/agent/v1/claim_next' \\\n"
        f"  -H 'Authorization: Bearer {token}' \\\n"
        "  -H 'Content-Type: application/json' -d '{}'"
    )
    work = (
        f"export SWITCHBOARD_URL='{base_url}'\n"
        f"export SWITCHBOARD_ENDPOINT_TOKEN='{token}'\n"
        "switchboard work -- COMMAND"
    )
    found = [
        Snippet(
            id="curl",
            label="Command for curl",
            copy="Copy command for curl",
            hint="Claims the oldest pending todo and prints it as JSON.",
            text=curl,
            rows=4,
        ),
        Snippet(
            id="worker",
            label="Command for a worker",
            copy="Copy command for a worker",
            hint="Runs COMMAND for each todo, with the todo as JSON on its standard input.",
            text=work,
            rows=4,
        ),
    ]
    return found if "claim_next" in granted.verbs else []


def secret_fields(secrets: Mapping[str, str], base_url: str) -> dict[str, str]:
    """The webhook's address and, for a signed type, its secret, by what they are."""
    shown = {"url": f"{base_url}/webhooks/w/{secrets['ingest_token']}"}
    if "signing_secret" in secrets:
        shown["secret"] = secrets["signing_secret"]
    return shown


def _onward(place: int) -> str:
    return f"Continue to {STEPS[place + 1]}" if place + 1 < len(STEPS) else "Vend the endpoint"


def _answer(
    step: str, question: str, lines: list[str], change: str, warning: str | None = None
) -> Answer:
    href = f"{_PATH}/{step}?review=1"
    return Answer(question=question, lines=lines, warning=warning, href=href, change=change)


def _limits(verbs: list[str], team: str | None) -> str:
    said = f"{' and '.join(verbs)} let the agent change its own budget."
    if team is None:
        return said
    return f"{said} This covers the queues of team {isolate(team)} that it drains too."


def _owner(team: str | None) -> list[str]:
    if team is None:
        return ["You."]
    return [
        f"{vend_words.owner(team)}: its admins and owners can change and revoke the endpoint.",
        "You stay the person who answers for what the agent does.",
    ]


def _webhook(answers: VendAnswers) -> list[str]:
    kind = Source(answers.source or Source.GENERIC)
    return [
        f"One webhook of type {vend_words.source(kind)}.",
        f"A delivery becomes a todo in {isolate(answers.queues[0])}.",
    ]


def _lifetime(answers: VendAnswers) -> list[str]:
    lasts = answers.lifetime or UNTIL_REVOKED
    until = "Until you revoke it" if lasts == UNTIL_REVOKED else vend_words.lifetime(lasts)
    lease = lease_seconds(None, answers.lease)
    own = "its own default" if answers.lease is not None else "the server's default"
    return [f"{until}.", f"A claim lasts {lease} seconds ({own}) unless it asks for another time."]
