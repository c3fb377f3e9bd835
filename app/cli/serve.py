"""`serve`, `migrate` and `version`: the server itself."""

from __future__ import annotations

import click

from app.cli.frame import Leaf, pass_host
from app.cli.host import Host
from app.cli.output import show_value


@click.command(cls=Leaf)
@pass_host
def serve(host: Host) -> int:
    """Migrate, then serve pages, APIs and jobs until stopped."""
    return host.serve()


@click.command(cls=Leaf)
@pass_host
def migrate(host: Host) -> None:
    """Apply the pending migrations and exit."""
    applied = host.migrate()
    lines = [f"applied {name}" for name in applied] or ["Everything is current."]
    show_value({"applied": [*applied]}, lines)


@click.command(cls=Leaf)
@pass_host
def version(host: Host) -> None:
    """Print the version."""
    show_value({"version": host.version}, [host.version])
