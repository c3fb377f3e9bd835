"""`agent`: who the endpoints were vended to."""

from __future__ import annotations

import click

from app.cli.frame import Branch, operator, pass_host
from app.cli.host import Host
from app.cli.output import listed, show, table, word


@click.group(cls=Branch)
def agent() -> None:
    """Agents."""


@agent.command("list")
@pass_host
def list_agents(host: Host) -> None:
    """List your agents."""
    show(
        operator(host).get("/agents"),
        lambda body: table(
            ("ID", "NAME", "DESCRIPTION"),
            [
                (word(row.get("id")), word(row.get("name")), word(row.get("description")))
                for row in listed(body, "agents")
            ],
            hint="No agents yet; `switchboard vend NAME` makes one.",
        ),
    )
