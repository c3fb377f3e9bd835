"""`login`, `status` and `logout`: which server the operator commands talk to, and as whom."""

from __future__ import annotations

import sys

import click

from app.cli import credentials, grants, oauth_login
from app.cli.client import Client, NoAnswer
from app.cli.credentials import Credentials
from app.cli.frame import Leaf, Operator, accepted, operator, pass_host
from app.cli.host import Host
from app.cli.output import Answer, Failure, facts, inner, note, show, show_value, word
from app.domain.values import Json


@click.command(cls=Leaf)
@click.argument("url", required=False)
@click.option("--no-browser", is_flag=True,
              help="Only print the address to open, and start no browser.")
@click.option("--token-stdin", is_flag=True,
              help="Read an operator token from standard input instead.")
@pass_host
def login(host: Host, url: str | None, *, no_browser: bool, token_stdin: bool) -> None:
    """Log in to the server at URL and remember it.

    URL is that of SWITCHBOARD_URL by default. A browser opens where you allow it, and comes back to
    a port of this machine. Where no browser of this machine can, give an operator token:

    \b
    switchboard login https://board.example.org
    switchboard login --token-stdin < token-file
    """
    base = credentials.base_url(url or host.default_url)
    if token_stdin:
        saved = Credentials(url=base, token=_read_token())
    else:
        saved = oauth_login.sign_in(base, opens=not no_browser)
    answer = Operator(saved).get("/me")
    with credentials.locked(host):
        path = credentials.save(host, saved)
    show(answer, lambda me: [f"Logged in to {saved.url} as {_who(me)}."])
    note(f"Credentials are in {path}.")


@click.command(cls=Leaf)
@pass_host
def status(host: Host) -> None:
    """Show who is logged in, and where; exit code 1 when nobody is."""
    server = operator(host)
    show(server.get("/me"), lambda me: _status(server.url, me))


@click.command(cls=Leaf)
@pass_host
def logout(host: Host) -> None:
    """Revoke the token or the login that is in use, and forget it."""
    if credentials.load(host) is not None:
        with credentials.locked(host):  # a command that renews it now must not bring it back
            saved = credentials.load(host)
            if saved is not None:
                answer = _ended(saved)
                credentials.forget(host)
                show(answer, lambda _: [f"Logged out of {saved.url}."])
                return
    show_value({"revoked": False}, ["Nobody was logged in."])


def _read_token() -> str:
    if sys.stdin.isatty():
        token = str(click.prompt("Operator token", hide_input=True, err=True))
    else:
        token = sys.stdin.readline(credentials.TOKEN_LIMIT + 2)
    token = token.strip()
    if not token:
        raise click.UsageError("There is no token on standard input.")
    if token.startswith("sbk_"):
        raise Failure("That is an endpoint's credential; login takes an operator token (sbo_...).")
    if not credentials.is_token(token):
        raise Failure("What is on standard input is not a token.")
    return token


def _ended(saved: Credentials) -> Answer:
    """The server's answer to the end of the token, and the end of the grant it came from."""
    answer = _revoked(saved)
    grants.end(saved)
    return answer


def _revoked(saved: Credentials) -> Answer:
    try:
        answer = Client(saved.url, saved.token).call("DELETE", "/api/v1/token")
    except NoAnswer as silence:
        raise Failure(silence.sentence) from silence
    if answer.status == 401:  # dead already, which is what was asked for
        return Answer(status=200, text='{"revoked":true}', body={"revoked": True})
    return accepted(answer)


def _who(me: dict[str, Json]) -> str:
    return word(me.get("display_name"), word(me.get("human_id")))


def _status(url: str, me: dict[str, Json]) -> list[str]:
    token = inner(me, "token")
    return facts(
        [
            ("server", url),
            ("human", _who(me)),
            ("human id", word(me.get("human_id"))),
            ("email", word(me.get("email"))),
            ("token", f"{word(token.get('name'), 'unnamed')} ({word(token.get('kind'))})"),
            ("last used", word(token.get("last_used_at"), "never")),
        ]
    )
