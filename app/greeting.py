"""What a start prints: where it serves, where the data lives, and how to sign in."""

from __future__ import annotations

import sys

import click

from app.db.database import Database
from app.domain.callers import Human
from app.reads.first_human import first_human
from app.settings import Settings
from app.transactions import people


def greet(db: Database, settings: Settings, *, data: str) -> None:
    """Print the start-up text; make the first human on an empty database.

    The first start prints a sign-in link and an operator token; later ones a link only, and only
    on a terminal, so that a log never fills with links. (identity.md, "One-time sign-in link")
    """
    made = people.first_human(db)
    click.echo("Switchboard")
    click.echo(f"  address         {settings.base_url}")
    click.echo(f"  data            {data}")
    human = made or (first_human(db) if sys.stdout.isatty() else None)
    if human is not None:
        click.echo(f"  sign in         {_link(db, settings, human)}")
        click.echo(f"                  as {human.display_name}; works once, within 15 minutes")
    if made is not None:
        click.echo(f"  operator token  {people.mint_operator_token(db, made.id)}")
        click.echo("                  for the command line and /api/v1; shown this once, keep it")
    sys.stdout.flush()


def _link(db: Database, settings: Settings, human: Human) -> str:
    return f"{settings.base_url}/auth/link/{people.login_link(db, human.id)}"
