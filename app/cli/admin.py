"""`admin`: what only whoever holds the server's database may do."""

from __future__ import annotations

from uuid import UUID

import click

from app.cli.flags import beside
from app.cli.frame import Branch, pass_host
from app.cli.host import Host
from app.cli.output import facts, show_value, table, word
from app.db.database import Database
from app.domain import instance_settings
from app.domain.errors import InvalidArgument
from app.domain.instance_settings import Setting
from app.domain.values import Json
from app.reads import humans
from app.reads import instance as stored
from app.transactions import instance, people

_KEYS = "\b\n" + "\n".join(
    f"{key}  {rule.least} to {rule.most}, {rule.default} by default:\n  {rule.meaning}"
    for key, rule in sorted(instance_settings.RULES.items())
) + """

Retention deletes a finished todo, or an event no open todo needs, by whichever limit it exceeds
first: its age; the rows of the whole instance; and those of its owner (endpoint or team), which are
no settings of the database but SWITCHBOARD_RETENTION_TODOS_PER_OWNER and
SWITCHBOARD_RETENTION_EVENTS_PER_OWNER in the server's environment, 50000 by default."""


@click.group(cls=Branch)
def admin() -> None:
    """On the server host: humans, sign-in links and operator tokens."""


@admin.command("create-human")
@click.option("--name", required=True, metavar="N", help="Their display name.")
@click.option("--email", metavar="E", help="A label; nobody signs in by it.")
@pass_host
def create_human(host: Host, name: str, email: str | None) -> None:
    """Create a human; print a sign-in link and operator token."""
    with host.open_database() as db:
        try:
            human = people.create_human(db, display_name=name, email=email)
        except InvalidArgument as refusal:
            raise click.UsageError(beside(refusal.sentence, refusal.field)) from refusal
        found: dict[str, Json] = {
            "human_id": str(human.id),
            "login_url": _login_url(host, db, human.id),
            "operator_token": people.mint_operator_token(db, human.id),
        }
    show_value(found, facts((key, str(value)) for key, value in found.items()))


@admin.command("login-url")
@click.option("--human", "who", required=True, metavar="N", help="Id, or name when it is unique.")
@pass_host
def login_url(host: Host, who: str) -> None:
    """Print a fresh sign-in link: good once, for 15 minutes."""
    with host.open_database() as db:
        human = humans.by_id_or_name(db, who)
        url = _login_url(host, db, human.id)
    show_value({"human_id": str(human.id), "login_url": url}, [url])


@admin.command("token")
@click.option("--human", "who", required=True, metavar="N", help="Id, or name when it is unique.")
@click.option("--name", metavar="T", help="What to call the token.")
@pass_host
def token(host: Host, who: str, name: str | None) -> None:
    """Print a fresh operator token.

    It is alone on its line, so that `login --token-stdin` can read it.
    """
    with host.open_database() as db:
        human = humans.by_id_or_name(db, who)
        try:
            minted = people.mint_operator_token(db, human.id, name)
        except InvalidArgument as refusal:
            raise click.UsageError(beside(refusal.sentence, refusal.field)) from refusal
    show_value({"human_id": str(human.id), "name": name, "operator_token": minted}, [minted])


@admin.command("setting", epilog=_KEYS)
@click.argument("key", required=False)
@click.argument("value", required=False)
@pass_host
def setting(host: Host, key: str | None, value: str | None) -> None:
    """List the settings in the database, print or change one.

    A change holds at once, on every server of the database.
    """
    try:
        if key is not None:
            instance_settings.require_known(key)
        with host.open_database() as db:
            if key is not None and value is not None:
                instance.set_setting(db, key, value)
            found = stored.stored_settings(db)
    except InvalidArgument as refusal:
        raise click.UsageError(refusal.sentence) from refusal
    chosen = [one for one in found if key in (None, one.key)]
    if key is not None:
        show_value(_told(chosen[0]), [word(chosen[0].value)])
        return
    rows = [
        [one.key, word(one.value), "default" if one.is_default else "set", one.meaning]
        for one in chosen
    ]
    told: list[Json] = [_told(one) for one in chosen]
    show_value({"settings": told}, table(["SETTING", "VALUE", "IS", "MEANING"], rows, hint=""))


def _told(setting: Setting) -> dict[str, Json]:
    return {"key": setting.key, "value": setting.value, "is_default": setting.is_default}


def _login_url(host: Host, db: Database, human_id: UUID) -> str:
    return f"{host.base_url}/auth/link/{people.login_link(db, human_id)}"
