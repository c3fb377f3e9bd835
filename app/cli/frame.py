"""What all commands share: the options every one takes, and the operator's way to the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote

import click

from app.cli import credentials, grants
from app.cli.client import Client, NoAnswer
from app.cli.flags import beside
from app.cli.host import Host
from app.cli.output import JSON_KEY, Answer, Failure, note
from app.domain.errors import DomainError
from app.domain.values import Json

LEVELS = ("debug", "info", "warning", "error")
LEVEL_KEY = "switchboard.log_level"

class Leaf(click.Command):
    """A command with --json and --log-level; a refusal of the product becomes exit code 1."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own parameters, and the two that every command takes."""
        return [*super().get_params(ctx), *_shared_options()]

    def invoke(self, ctx: click.Context) -> object:
        """Run it; a DomainError is a sentence, not a trace, and wrong usage shows the usage."""
        try:
            return super().invoke(ctx)
        except click.UsageError as wrong:
            if wrong.ctx is not None:
                raise
            raise click.UsageError(wrong.format_message(), ctx) from wrong
        except DomainError as refusal:
            raise Failure(refusal.sentence, code=refusal.code) from refusal


class Branch(click.Group):
    """A group whose commands are leaves and whose groups are branches."""

    command_class = Leaf
    group_class = type

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options that every command takes, accepted before its name too."""
        return [*super().get_params(ctx), *_shared_options()]


pass_host = click.make_pass_decorator(Host)


Renew = Callable[[credentials.Credentials], credentials.Credentials]


class Operator:
    """`/api/v1` of the server that is logged in to; every refusal is a Failure.

    With `renew` an OAuth login is renewed before it ends, or once on a 401, without asking.
    """

    def __init__(self, saved: credentials.Credentials, renew: Renew | None = None):
        self.url = saved.url
        self._saved = saved
        self._renew = renew if saved.grant is not None else None
        self._client = Client(saved.url, saved.token)

    def get(self, path: str, query: Mapping[str, str | int | None] | None = None) -> Answer:
        """GET below /api/v1; empty query values are left out."""
        given = {key: str(value) for key, value in (query or {}).items() if value is not None}
        return self._call("GET", path, None, given)

    def post(self, path: str, body: Mapping[str, Json] | None = None) -> Answer:
        """POST exactly `body`, nulls included; an empty object when there is nothing to say."""
        return self._call("POST", path, body or {})

    def patch(self, path: str, body: Mapping[str, Json]) -> Answer:
        """PATCH with exactly `body`, nulls included."""
        return self._call("PATCH", path, body)

    def put(self, path: str, body: Mapping[str, Json]) -> Answer:
        """PUT exactly `body`, nulls included."""
        return self._call("PUT", path, body)

    def delete(self, path: str, query: Mapping[str, str | None] | None = None) -> Answer:
        """DELETE without a body; empty query values are left out."""
        given = {key: text for key, text in (query or {}).items() if text is not None}
        return self._call("DELETE", path, None, given)

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Json] | None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        if grants.is_due(self._saved):
            self._renewed()
        answer = self._asked(method, path, body, query)
        if answer.status == 401 and self._renewed():  # whoever is refused at the door did nothing
            answer = self._asked(method, path, body, query)
        return accepted(answer)

    def _asked(
        self, method: str, path: str, body: Mapping[str, Json] | None,
        query: Mapping[str, str] | None,
    ) -> Answer:  # fmt: skip
        try:
            return self._client.call(method, f"/api/v1{path}", body, query=query)
        except NoAnswer as silence:
            raise Failure(silence.sentence) from silence

    def _renewed(self) -> bool:
        if self._renew is None:
            return False
        self._saved = self._renew(self._saved)
        self._client.close()
        self._client = Client(self.url, self._saved.token)
        return True


def operator(host: Host) -> Operator:
    """The server that is logged in to. Raises Failure when nobody is."""
    saved = credentials.load(host)
    if saved is None:
        raise Failure("Not logged in; use `switchboard login`.", code="unauthenticated")
    named = host.environment.get("SWITCHBOARD_URL")
    if named and named.rstrip("/") != saved.url:
        # Whoever names a server means it; to act on another one would be worse than to refuse.
        raise Failure(f"Logged in to {saved.url}, not to {named}, which SWITCHBOARD_URL names.")
    return Operator(saved, lambda stale: grants.renewed(host, stale))


def accepted(answer: Answer) -> Answer:
    """`answer` when it is a success. Raises Failure with the server's own sentence otherwise."""
    if 200 <= answer.status < 300:
        return answer
    sentence = answer.body.get("error")
    if not isinstance(sentence, str):
        sentence = f"The server answered {answer.status}; a redirect is never followed."
    field = answer.body.get("field")
    sentence = beside(sentence, field if isinstance(field, str) else None)
    if answer.status == 401:
        sentence = f"{sentence} The server no longer knows this token; log in again."
    if sentence == "Not found.":
        sentence = "Not found: nothing that you may manage is called that."
    code = answer.body.get("code")
    raise Failure(sentence, body=answer.text, code=code if isinstance(code, str) else None)


def present(body: Mapping[str, Json]) -> dict[str, Json]:
    """`body` without the keys that were not given (null)."""
    return {key: value for key, value in body.items() if value is not None}


def segment(text: str) -> str:
    """`text` as one segment of a path; slashes and dots cannot leave it."""
    quoted = quote(text, safe="")
    return quoted.replace(".", "%2E") if quoted in (".", "..") else quoted


def agreed(question: str, *, skip: bool) -> bool:
    """Ask `question` with [y/N] on standard error. Raises Failure when nobody answers.

    A no is an answer and exits 0 (cli.md); a script whose standard input ends has asked for
    something that was not done.
    """
    if skip:
        return True
    try:
        if click.confirm(question, default=False, err=True):
            return True
    except click.Abort:
        click.echo(err=True)
        raise Failure("Nobody answered, so nothing was changed; -y agrees beforehand.") from None
    note("Nothing was changed.")
    return False


def _shared_options() -> list[click.Option]:
    return [
        click.Option(
            ["--json"], is_flag=True, expose_value=False, is_eager=True,
            callback=_remember_json, help="Print the JSON answer.",
        ),
        click.Option(
            ["--log-level"], type=click.Choice(LEVELS), expose_value=False, is_eager=True,
            callback=_apply_level, help="How much to log.",
        ),
    ]  # fmt: skip


def _remember_json(ctx: click.Context, _option: click.Parameter, given: object) -> None:
    if given:
        ctx.meta[JSON_KEY] = True


def _apply_level(ctx: click.Context, _option: click.Parameter, level: str | None) -> None:
    host = ctx.find_object(Host)
    if level is not None and host is not None and ctx.meta.get(LEVEL_KEY) != level:
        ctx.meta[LEVEL_KEY] = level
        host.set_log_level(level)
