"""`webhook`: where deliveries come in, and which endpoints get a copy."""

from __future__ import annotations

from collections.abc import Sequence

import click

from app.cli.frame import Branch, Operator, operator, pass_host, segment
from app.cli.host import Host
from app.cli.output import facts, listed, show, table, word
from app.domain.values import Json


@click.group(cls=Branch)
def webhook() -> None:
    """Webhooks: the addresses that turn deliveries into todos."""


@webhook.command("list")
@click.argument("ref", required=False)
@pass_host
def list_webhooks(host: Host, ref: str | None) -> None:
    """List your webhooks, or those of the endpoint REF."""
    path = "/webhooks" if ref is None else f"/endpoints/{segment(ref)}/webhooks"
    show(
        operator(host).get(path),
        lambda body: table(
            ("ID", "SOURCE", "QUEUE", "TRUST", "CREATED", "URL"),
            [_row(one) for one in listed(body, "webhooks")],
            hint="No webhooks; `switchboard webhook create REF` makes one.",
        ),
    )


@webhook.command("create")
@click.argument("ref")
@click.option("--source-type", required=True, metavar="T", help="generic, github, gitea, ...")
@click.option("--queue", required=True, metavar="Q",
              help="The queue its todos go to; team:SLUG/NAME for a team's.")
@pass_host
def create(host: Host, ref: str, source_type: str, queue: str) -> None:
    """Make a webhook for the endpoint REF.

    A signing secret is shown this once.
    """
    body: dict[str, Json] = {"source_type": source_type, "target_queue": queue}
    show(operator(host).post(f"/endpoints/{segment(ref)}/webhooks", body), _made)


@webhook.command("rotate")
@click.argument("webhook_id", metavar="ID")
@pass_host
def rotate(host: Host, webhook_id: str) -> None:
    """Give a webhook a new address and secret.

    The old ones stop at once.
    """
    show(operator(host).post(f"/webhooks/{segment(webhook_id)}/rotate"), _made)


@webhook.command("delete")
@click.argument("webhook_id", metavar="ID")
@pass_host
def delete(host: Host, webhook_id: str) -> None:
    """Delete a webhook; its address stops at once."""
    answer = operator(host).delete(f"/webhooks/{segment(webhook_id)}")
    show(answer, lambda _: [f"{webhook_id} is deleted."])


@webhook.command("routes")
@click.argument("webhook_id", metavar="ID")
@click.option("--add", "added", multiple=True, metavar="REF", help="An endpoint to copy to.")
@click.option("--remove", "removed", multiple=True, metavar="REF", help="One to copy to no more.")
@pass_host
def routes(host: Host, webhook_id: str, added: Sequence[str], removed: Sequence[str]) -> None:
    """List, add and remove endpoints that get copies too.

    Each gets a copy of every delivery.
    """
    server, path = operator(host), f"/webhooks/{segment(webhook_id)}/routes"
    for ref in added:
        server.post(path, {"endpoint": ref})
    for ref in removed:
        server.delete(f"{path}/{segment(_target(server, path, ref))}")
    show(
        server.get(path),
        lambda body: table(
            ("ENDPOINT", "ID", "SINCE"),
            [
                (word(one.get("slug")), word(one.get("endpoint_id")), word(one.get("granted_at")))
                for one in listed(body, "routes")
            ],
            hint="No routes; its own endpoint gets every delivery.",
        ),
    )


def _target(server: Operator, path: str, ref: str) -> str:
    """The id of the route's endpoint: the path takes ids, people know slugs."""
    for one in listed(server.get(path).body, "routes"):
        if one.get("slug") == ref:
            return word(one.get("endpoint_id"))
    return ref


def _row(one: dict[str, Json]) -> tuple[str, ...]:
    return (
        word(one.get("webhook_id")),
        word(one.get("source_type")),
        word(one.get("target_queue")),
        word(one.get("trust_mode")),
        word(one.get("created_at")),
        word(one.get("ingest_url")),
    )


def _made(body: dict[str, Json]) -> list[str]:
    pairs = [
        ("webhook", word(body.get("webhook_id"))),
        ("url", word(body.get("ingest_url"))),
        ("source type", word(body.get("source_type"))),
        ("queue", word(body.get("target_queue"))),
    ]
    if "signing_secret" not in body:
        return facts(pairs)
    pairs.append(("signing secret", word(body.get("signing_secret"))))
    return [*facts(pairs), "Keep the secret now; it is not shown again."]
