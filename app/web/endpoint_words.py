"""The pages of endpoints in words: the list, one grant, what a revoke will do."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.isolating import isolate
from app.domain.todos import lease_seconds
from app.domain.verbs import ADMISSION, FAMILIES
from app.reads.endpoint_pages import (
    MOST_HELD,
    Ending,
    EndpointPage,
    Granted,
    Held,
    QueueOfEndpoint,
    SeenEndpoint,
)
from app.reads.webhook_pages import WebhookLine
from app.web import vend_words
from app.web.present import Instant, instant


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointLine:
    """One row of the list."""

    href: str
    slug: str
    agent: str
    owner: str
    state: str
    queues: str
    expires: Instant | None
    seen: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLink:
    """A queue with the way to its page; `note` is empty for one that is granted."""

    href: str
    name: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLine:
    """A todo the endpoint holds."""

    href: str
    title: str
    queue: str
    lease: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookLink:
    """A webhook of the endpoint, with the way to its page."""

    href: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantLine:
    """The verbs of one family; `is_limits` marks those that change a budget."""

    family: str
    verbs: list[str]
    is_limits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointView:
    """One endpoint's page; `more_held` says that there are more than shown, or is empty;
    `new_webhook` is None at the ceiling.
    """

    id: str
    slug: str
    agent: str
    owner: str
    vended_by: str
    state: str
    is_active: bool
    may_configure: bool
    prefix: str
    created: Instant | None
    ended: Instant | None
    expires: Instant | None
    seen: Instant | None
    grants: list[GrantLine]
    queues: list[QueueLink]
    lease: str
    ceiling: str
    held: list[HeldLine]
    more_held: str
    new_webhook: str | None


def endpoint_line(row: SeenEndpoint, zone: str | None) -> EndpointLine:
    """One row of the list, times in the viewer's zone or UTC."""
    return EndpointLine(
        href=f"/endpoints/{row.id}",
        slug=row.slug,
        agent=row.agent_name,
        owner=owner_words(row.team),
        state=row.state,
        queues=", ".join(row.queues),
        expires=instant(row.expires_at, zone),
        seen=instant(row.last_seen_at, zone),
    )


def endpoint_view(page: EndpointPage, zone: str | None, *, webhooks: int) -> EndpointView:
    """One endpoint's page with so many webhooks, times in the viewer's zone or UTC.

    Its team queues have a section of their own for whoever may take them away.
    """
    row = page.granted
    manages = row.may_configure
    may_have_more = webhooks < row.webhook_max
    is_active = row.state == "active"
    return EndpointView(
        id=str(row.id),
        slug=row.slug,
        agent=row.agent_name,
        owner=owner_words(row.team),
        vended_by=row.vended_by,
        state=row.state,
        is_active=is_active,
        may_configure=row.may_configure,
        prefix=f"{row.credential_prefix}\u2026",
        created=instant(row.created_at, zone),
        ended=None if is_active else instant(row.revoked_at or row.expires_at, zone),
        expires=instant(row.expires_at, zone),
        seen=instant(row.last_seen_at, zone),
        grants=_grants(row.verbs),
        queues=[_queue_link(each) for each in page.queues if not (manages and each.is_team)],
        lease=lease_words(row.default_lease_ttl_seconds),
        ceiling=_ceiling(row),
        held=[_held(one, zone) for one in page.held[:MOST_HELD]],
        more_held=f"More than {MOST_HELD}; these lapse first." if page.held[MOST_HELD:] else "",
        new_webhook=f"/webhooks/new?endpoint={row.id}" if is_active and may_have_more else None,
    )


def hook_link(line: WebhookLine) -> HookLink:
    """A webhook in one line of its endpoint's page."""
    words = f"{line.source_type} to {isolate(line.target_queue)}"
    return HookLink(href=f"/webhooks/{line.id}", words=words)


def owner_words(team: str | None) -> str:
    """Who owns an endpoint, as its viewer sees it."""
    return "you" if team is None else f"team {isolate(team)}"


def lease_words(own: int | None) -> str:
    """How long a claim of the endpoint lasts."""
    whose = "the server's default" if own is None else "its own default"
    return f"{lease_seconds(None, own)} seconds, {whose}"


def ending_lines(row: Granted, ending: Ending) -> list[str]:
    """What revoking will do, sentence by sentence, each true when the page was loaded."""
    total = ending.pending + ending.claimed + ending.parked
    lines = [
        f"The credential of {row.slug} stops at once, and so do its open connections.",
        "There is no way back: to let the agent work again, vend another endpoint.",
        _dead_letters(ending, total),
    ]
    if ending.team_held:
        lines.append(
            f"{_todos(ending.team_held)} of a team that it holds {_goes(ending.team_held)} back to"
            " pending, with no attempt spent."
        )
    return [*lines, "Its webhooks make no more todos for it."]


def _dead_letters(ending: Ending, total: int) -> str:
    if not total:
        return "Nothing waits in its queues, so nothing is dead-lettered."
    return (
        f"{_todos(total)} in its queues will be dead-lettered: {ending.pending} pending,"
        f" {ending.claimed} claimed and {ending.parked} waiting for a retry. Dead letters can still"
        " be read, and no longer be worked or retried."
    )


def _todos(count: int) -> str:
    return f"{count} todo" if count == 1 else f"{count} todos"


def _goes(count: int) -> str:
    return "goes" if count == 1 else "go"


def _grants(verbs: list[str]) -> list[GrantLine]:
    lines = []
    for name, family in FAMILIES.items():
        held = [vend_words.verb(verb) for verb in family if verb in verbs]
        legend = vend_words.LIMITS_LEGEND if family == ADMISSION else vend_words.family(name)
        if held:
            lines.append(GrantLine(family=legend, verbs=held, is_limits=family == ADMISSION))
    return lines


def _queue_link(queue: QueueOfEndpoint) -> QueueLink:
    note = "" if queue.is_granted else "not in its grant: the endpoint cannot work these todos"
    return QueueLink(href=f"/queues/{queue.id}", name=queue.name, note=note)


def _held(one: Held, zone: str | None) -> HeldLine:
    return HeldLine(
        href=f"/todos/{one.id}",
        title=one.title,
        queue=one.queue,
        lease=instant(one.lease_expires_at, zone),
    )


def _ceiling(row: Granted) -> str:
    if not row.webhook_max:
        return "It may have no webhook."
    amount = "1 webhook" if row.webhook_max == 1 else f"{row.webhook_max} webhooks"
    types, queues = ", ".join(row.webhook_source_types), ", ".join(row.webhook_queues)
    return f"At most {amount}, of type {types}, for {queues}."
