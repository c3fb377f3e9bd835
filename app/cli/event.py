"""`event`: what was delivered."""

from __future__ import annotations

import click

from app.cli.frame import Branch, operator, pass_host, segment
from app.cli.host import Host
from app.cli.output import facts, listed, note, show, table, wants_json, word
from app.domain.values import Json


@click.group(cls=Branch)
def event() -> None:
    """Events: the deliveries todos came from."""


@event.command("list")
@click.option("--limit", type=click.IntRange(1, 200), help="How many, 50 by default.")
@click.option("--cursor", help="Where the last page ended.")
@pass_host
def list_events(host: Host, limit: int | None, cursor: str | None) -> None:
    """List events, newest first."""
    answer = operator(host).get("/events", {"limit": limit, "cursor": cursor})
    show(
        answer,
        lambda body: table(
            ("ID", "RECEIVED", "SOURCE", "TYPE", "TRUST", "VERIFIED"),
            [_row(one) for one in listed(body, "events")],
            hint="No events.",
        ),
    )
    more(answer.body)


@event.command("show")
@click.argument("event_id", metavar="ID")
@pass_host
def show_event(host: Host, event_id: str) -> None:
    """Show one event with everything stored about it."""
    answer = operator(host).get(f"/events/{segment(event_id)}")
    show(answer, lambda body: facts((name, word(value)) for name, value in body.items()))


def more(body: dict[str, Json]) -> None:
    """Say how to get the next page, when there is one."""
    cursor = body.get("next_cursor")
    if isinstance(cursor, str) and not wants_json():
        note(f"More: --cursor {cursor}")


def _row(one: dict[str, Json]) -> tuple[str, ...]:
    return (
        word(one.get("id")),
        word(one.get("received_at")),
        word(one.get("source")),
        word(one.get("event_type")),
        word(one.get("trust_mode")),
        word(one.get("verified")),
    )
