"""`endpoint`: vend, list, edit and revoke the endpoints agents work through."""

from __future__ import annotations

from collections.abc import Sequence

import click

from app.cli.frame import Branch, agreed, operator, pass_host, present, segment
from app.cli.host import Host
from app.cli.output import facts, inner, listed, show, table, word
from app.domain.values import Json
from app.domain.verbs import ADMISSION, BASICS, NOTIFY

_VERBS = f"""Verbs by default: {", ".join(BASICS)}.

Only when named: {", ".join(NOTIFY)}; {", ".join(ADMISSION)}, with which an agent changes its own
budget."""


class LeaseSeconds(click.ParamType["int | str"]):
    """A number of seconds, or `none` for no default of its own; the server holds the bounds."""

    name = "S|none"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """The number, or the word none. Anything else is wrong usage."""
        text = str(value)
        if text == "none":
            return text
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            self.fail(f"{text!r} is neither a whole number of seconds nor none.", param, ctx)
        return int(text)


@click.group(cls=Branch)
def endpoint() -> None:
    """Endpoints: what an agent holds to work queues."""


@endpoint.command("list")
@pass_host
def list_endpoints(host: Host) -> None:
    """List your endpoints."""
    show(
        operator(host).get("/endpoints"),
        lambda body: table(
            ("SLUG", "AGENT", "STATE", "QUEUES", "EXPIRES", "LEASE"),
            [_row(one) for one in listed(body, "endpoints")],
            hint="No endpoints yet; `switchboard vend NAME` makes one.",
        ),
    )


@endpoint.command("vend", epilog=_VERBS)
@click.argument("name")
@click.option("--queue", "queues", multiple=True, metavar="Q",
              help="A queue it may work; repeat it for more. inbox when none is named.")
@click.option("--verb", "verbs", multiple=True, metavar="V",
              help="A verb it may call; repeat it for more. Replaces the default set below.")
@click.option("--lifetime", metavar="L", help="1h, 24h, 7d, 30d or any number of m, h, d, w.")
@click.option("--default-lease", type=click.IntRange(min=1), metavar="S", help="Seconds of lease.")
@click.option("--webhook-source", metavar="T",
              help="generic (the default), github, gitea, stripe or slack.")
@click.option("--team", metavar="SLUG", help="The team that owns agent and endpoint.")
@pass_host
def vend(
    host: Host,
    name: str,
    queues: Sequence[str],
    verbs: Sequence[str],
    lifetime: str | None,
    default_lease: int | None,
    webhook_source: str | None,
    team: str | None,
) -> None:
    """Vend an endpoint to the agent NAME.

    Its credential is shown this once. A webhook is always made with it, for its first queue. One of
    type generic has no signature: its URL is the only proof, and whoever knows it can deliver.
    Queues and verbs never change later.
    """
    body: dict[str, Json] = {
        "name": name,
        "queues": [*queues] or None,
        "verbs": [*verbs] or None,
        "lifetime": lifetime,
        "default_lease_ttl_seconds": default_lease,
        "webhook_source_type": webhook_source,
        "team": team,
    }
    show(operator(host).post("/endpoints", present(body)), _vended)


@endpoint.command("edit")
@click.argument("ref")
@click.option("--default-lease", type=LeaseSeconds(), required=True, help="60 to 86400, or none.")
@pass_host
def edit(host: Host, ref: str, default_lease: int | str) -> None:
    """Change an endpoint's own default lease."""
    seconds = default_lease if isinstance(default_lease, int) else None
    answer = operator(host).patch(
        f"/endpoints/{segment(ref)}", {"default_lease_ttl_seconds": seconds}
    )
    show(answer, lambda body: [f"{word(body.get('slug'), ref)} leases for {_lease(body)}."])


@endpoint.command("revoke")
@click.argument("ref")
@click.option("-y", "--yes", "sure", is_flag=True, help="Do not ask.")
@pass_host
def revoke(host: Host, ref: str, *, sure: bool) -> None:
    """Revoke an endpoint for good.

    Its credential stops, and its open todos are dead-lettered.
    """
    server = operator(host)
    if agreed(f"Revoke {ref} for good?", skip=sure):
        answer = server.post(f"/endpoints/{segment(ref)}/revoke")
        show(answer, lambda body: [f"{word(body.get('slug'), ref)} is revoked."])


def _row(one: dict[str, Json]) -> tuple[str, ...]:
    return (
        word(one.get("slug")),
        word(one.get("agent_name")),
        word(one.get("state")),
        word(one.get("queues")),
        word(one.get("expires_at"), "never"),
        _lease(one),
    )


def _lease(one: dict[str, Json]) -> str:
    own = one.get("default_lease_ttl_seconds")
    if own is not None:
        return f"{word(own)}s"
    return f"{word(one.get('effective_lease_ttl_seconds'))}s (default)"


def _vended(body: dict[str, Json]) -> list[str]:
    hook = inner(body, "webhook")
    pairs = [
        ("agent", word(body.get("agent_name"))),
        ("endpoint", word(body.get("slug"))),
        ("queues", word(body.get("queues"))),
        ("expires", word(body.get("expires_at"), "never")),
        ("agent url", word(body.get("agent_url"))),
        ("webhook url", word(hook.get("ingest_url"))),
        ("source type", word(hook.get("source_type"))),
    ]
    if "signing_secret" in hook:
        pairs.append(("signing secret", word(hook.get("signing_secret"))))
    pairs.append(("credential", word(body.get("token"))))
    return [*facts(pairs), "Keep credential and secret now; they are not shown again."]
