"""The pages of webhooks in words: the list, one webhook, what an act will do."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.isolating import isolate
from app.domain.queues import TEAM_PREFIX
from app.domain.signatures import Source
from app.reads.webhook_pages import Host, WebhookLine
from app.reads.webhooks import RouteRow
from app.web import vend_words
from app.web.present import Instant, instant


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookView:
    """One webhook; `queue_href` is None without such a queue, and `queue_note` then says why;
    `rotated` is None until it was.
    """

    id: str
    href: str
    name: str
    words: str
    endpoint: str
    endpoint_href: str
    source: str
    proof: str
    queue: str
    queue_href: str | None
    queue_note: str
    copies: str
    may_add_route: bool
    routes: str
    state: str
    is_active: bool
    is_signed: bool
    created: Instant | None
    rotated: Instant | None
    last: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteView:
    """A route and the form that removes it."""

    href: str
    slug: str
    granted: Instant | None
    remove: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLine:
    """What an endpoint may have, in words."""

    slug: str
    words: str


def webhook_view(line: WebhookLine, zone: str | None) -> WebhookView:
    """One webhook, times in the viewer's zone or UTC."""
    return WebhookView(
        id=str(line.id),
        href=f"/webhooks/{line.id}",
        name=name_of(line),
        words=f"{line.source_type} to {isolate(line.target_queue)} of {line.slug}",
        endpoint=line.slug,
        endpoint_href=f"/endpoints/{line.endpoint_id}",
        source=line.source_type,
        proof=_proof(line),
        queue=line.target_queue,
        queue_href=None if line.queue_id is None else f"/queues/{line.queue_id}",
        queue_note=_queue_note(line),
        copies=_copies(line),
        may_add_route=line.state == "active" and not _is_team(line),
        routes=_routes(line.routes),
        state=line.state,
        is_active=line.state == "active",
        is_signed=line.trust_mode == "signed",
        created=instant(line.created_at, zone),
        rotated=instant(line.rotated_at, zone),
        last=instant(line.last_received_at, zone),
    )


def route_view(webhook_id: str, row: RouteRow, zone: str | None) -> RouteView:
    """One route of a webhook."""
    return RouteView(
        href=f"/endpoints/{row.endpoint_id}",
        slug=row.slug,
        granted=instant(row.granted_at, zone),
        remove=f"/webhooks/{webhook_id}/routes/{row.endpoint_id}/remove",
        label=f"Remove the route to {row.slug}",
    )


def host_line(host: Host) -> HostLine:
    """How many webhooks an endpoint has and may have, of which types and for which queues."""
    types, queues = ", ".join(host.types) or "no type", ", ".join(host.queues) or "no queue"
    words = f"has {host.used} of {host.max}; type {types}; queue {queues}"
    return HostLine(slug=host.slug, words=words)


def name_of(line: WebhookLine) -> str:
    """What a webhook is called in a sentence: it has no name of its own."""
    return f"{line.source_type} webhook of {line.slug}"


def shown_words(line: WebhookLine) -> str:
    """That what was shown once is not shown again."""
    if line.trust_mode == "signed":
        return "The URL and the signing secret were shown once and cannot be shown again."
    return "The URL was shown once and cannot be shown again."


def rotate_lines(line: WebhookLine) -> list[str]:
    """What rotating will do."""
    secret = " and a new signing secret" if line.trust_mode == "signed" else ""
    return [
        f"The {name_of(line)} gets a new URL{secret}, shown once on the next page.",
        "The old URL stops at once: deliveries to it are refused until the sender has the new one.",
        "Its queue, its routes and what it has delivered so far stay.",
    ]


def delete_lines(line: WebhookLine) -> list[str]:
    """What deleting will do."""
    goes = "goes" if line.routes == 1 else "go"
    routes = f" Its {_routes(line.routes)} {goes} with it." if line.routes else ""
    return [
        f"The URL of the {name_of(line)} stops at once: its sender is told that there is nothing.",
        f"The webhook cannot be brought back.{routes}",
        "The todos it made stay, and so do its events.",
    ]


def _queue_note(line: WebhookLine) -> str:
    # An endpoint's queue is made again when it is missing; a team's is not (ingest.md, "Fan-out").
    if _is_team(line):
        return "the queue is gone or out of your reach, and deliveries make no todo"
    return "made by the next delivery"


def _copies(line: WebhookLine) -> str:
    queue = isolate(line.target_queue)
    if _is_team(line) and line.queue_id is None:
        return (
            f"No delivery becomes a todo while it cannot reach {queue}. Neither {line.slug} nor a"
            " route gets a copy."
        )
    if _is_team(line):
        return (
            f"Every delivery becomes one todo of the team, in {queue}. Neither {line.slug} nor a"
            " route gets a copy."
        )
    return (
        f"Each endpoint here gets a copy of every delivery, in its own queue {queue}, beside"
        f" {line.slug}."
    )


def _is_team(line: WebhookLine) -> bool:
    return line.target_queue.startswith(TEAM_PREFIX)


def _routes(count: int) -> str:
    return "1 route" if count == 1 else f"{count} routes"


def _proof(line: WebhookLine) -> str:
    known = {str(source): source for source in Source}
    if line.source_type not in known:
        return "deliveries are refused: the server does not know this type"
    return vend_words.proof(known[line.source_type])
