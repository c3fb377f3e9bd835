"""`queue budget verify`: whether every unit charged has its attempt (R62)."""

from __future__ import annotations

from collections.abc import Sequence

import click

from app.cli.frame import Leaf, pass_host
from app.cli.host import Host
from app.cli.output import show_value, table
from app.domain.values import Json, rfc3339
from app.reads import verifying
from app.reads.verifying import Charge


@click.command("verify", cls=Leaf)
@click.argument("endpoint", required=False)
@click.argument("queue", required=False)
@pass_host
def verify(host: Host, endpoint: str | None, queue: str | None) -> int:
    """On the server host: compare units charged with attempts.

    Those are the attempts marked as charged. One line for every window of every policy, cleared
    ones too, or of one queue. A window older than 35 days, or one whose attempts retention may have
    deleted, is left out. Exit code 1 when a single one is unequal.
    """
    address = None if endpoint is None or queue is None else (endpoint, queue)
    if endpoint is not None and address is None:
        raise click.UsageError("Name an endpoint and its queue, or neither for all.")
    with host.open_database() as db:
        found = verifying.charges(db, address)
        since = verifying.pruned_through(db)
    is_equal = not any(each.difference for each in found)
    body: dict[str, Json] = {
        "equal": is_equal,
        "attempts_pruned_through": since,
        "windows": [_body(each) for each in found],
    }
    show_value(body, _lines(found))
    return 0 if is_equal else 1


def _body(one: Charge) -> dict[str, Json]:
    return {
        "scope": one.scope,
        "queue": one.queue,
        "policy_id": str(one.policy_id),
        "window_start": rfc3339(one.window_start),
        "used": one.used,
        "marked": one.marked,
        "difference": one.difference,
    }


def _lines(found: Sequence[Charge]) -> list[str]:
    return table(
        ("SCOPE", "QUEUE", "WINDOW", "USED", "MARKED", "VERDICT"),
        [_row(one) for one in found],
        hint="Nothing was charged, so there is nothing to compare.",
    )


def _row(one: Charge) -> tuple[str, ...]:
    return (
        one.scope or f"policy {one.policy_id}",
        one.queue or "-",
        rfc3339(one.window_start),
        str(one.used),
        str(one.marked),
        _verdict(one.difference),
    )


def _verdict(difference: int) -> str:
    if difference == 0:
        return "equal"
    more, less = ("used", "marked") if difference > 0 else ("marked", "used")
    return f"{more} exceeds {less} by {abs(difference)}"
