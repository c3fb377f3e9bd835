"""`queue budget`: look at a queue's policy, replace it, take it away (cli.md, "queue budget")."""

from __future__ import annotations

import click

from app.cli import budget_words as words
from app.cli.frame import Branch, Operator, operator, pass_host, segment
from app.cli.host import Host
from app.cli.output import Answer, Failure, listed, show, to_json
from app.domain.values import Json

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DIGITS = 20  # more than any limit has; the server holds the bounds


class Limit(click.ParamType[int]):
    """A whole number in plain digits; the server says which ones will do."""

    name = "N"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The number. Anything else is wrong usage."""
        text = str(value)
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
            self.fail(f"{text!r} is not a whole number.", param, ctx)
        return int(text)


@click.group(cls=Branch)
def queue() -> None:
    """Queues and their budgets."""


@queue.group(cls=Branch)
def budget() -> None:
    """A queue's limits on claims in a window and todos in flight."""


@budget.command("show")
@click.argument("endpoint", required=False)
@click.argument("name", metavar="[QUEUE]", required=False)
@pass_host
def show_budget(host: Host, endpoint: str | None, name: str | None) -> None:
    """List policies, those of ENDPOINT, or one QUEUE's.

    That of one queue comes with its windows and its changes. ENDPOINT is a slug or id, or team:SLUG
    for a team's queue. A member of a team who is no admin sees how its queues stand on the board.
    """
    server = operator(host)
    if endpoint is not None and name is not None:
        show(server.get(_path(endpoint, name)), words.detail)
        return
    found = server.get("/admission")
    if endpoint is not None:
        found = _of_one(server, found, endpoint)
    show(found, words.overview)


@budget.command("set")
@click.argument("endpoint")
@click.argument("name", metavar="QUEUE")
@click.option("--per-hour", type=Limit(), help="Claims in an hour.")
@click.option("--per-day", type=Limit(), help="Claims in a day.")
@click.option("--per-week", type=Limit(), help="Claims in a week.")
@click.option("--tz", metavar="ZONE", help="The window's time zone, such as Europe/Berlin.")
@click.option("--start", metavar="HH:MM", help="When a window begins there; 00:00 by default.")
@click.option("--weekday", type=click.Choice(DAYS), help="When a week begins; Mon by default.")
@click.option("--max-in-flight", type=Limit(), help="Todos claimed at the same time.")
@click.option("--reason", metavar="TEXT", help="Why, for whoever reads the changes.")
@pass_host
def set_budget(
    host: Host, endpoint: str, name: str, per_hour: int | None, per_day: int | None,
    per_week: int | None, tz: str | None, start: str | None, weekday: str | None,
    max_in_flight: int | None, reason: str | None,
) -> None:  # fmt: skip
    """Replace the policy of a queue by what the flags say.

    They describe the whole policy. Nothing is read first and nothing is kept: a limit that you do
    not name is removed. Set a cap, then set only --per-day, and the cap is gone. A limit of 0
    pauses the queue. Usage stays, and the next claim obeys.

    \b
    switchboard queue budget set lane-m-k3x9 lane-m --per-day 100 --tz Europe/Berlin
    switchboard queue budget set team:core builds --max-in-flight 3 --reason "incident 12"
    """
    limits = {"hour": per_hour, "day": per_day, "week": per_week}
    body = _policy(limits, tz, start, weekday, max_in_flight)
    if reason is not None:
        body["reason"] = reason
    show(operator(host).put(_path(endpoint, name), body), words.stored)


@budget.command("clear")
@click.argument("endpoint")
@click.argument("name", metavar="QUEUE")
@click.option("--reason", metavar="TEXT", help="Why, for whoever reads the changes.")
@pass_host
def clear_budget(host: Host, endpoint: str, name: str, reason: str | None) -> None:
    """Take the policy of a queue away.

    What it has used and who changed it stay on record.
    """
    answer = operator(host).delete(_path(endpoint, name), {"reason": reason})
    show(answer, lambda body: ["cleared" if body.get("deleted") is True else "no policy"])


def _policy(
    limits: dict[str, int | None], tz: str | None, start: str | None, weekday: str | None,
    max_in_flight: int | None,
) -> dict[str, Json]:  # fmt: skip
    """The body of the one PUT. Raises UsageError by the rules of cli.md."""
    given = [(period, limit) for period, limit in limits.items() if limit is not None]
    if len(given) > 1:
        raise click.UsageError("--per-hour, --per-day and --per-week exclude each other.")
    if given:
        period, limit = given[0]
        return _body(max_in_flight, limit, _window(period, tz, start, weekday))
    if max_in_flight is None:
        raise click.UsageError("Name a limit: --per-hour, --per-day, --per-week, --max-in-flight.")
    if (tz, start, weekday) != (None, None, None):
        raise click.UsageError(
            "--tz, --start and --weekday describe a window: name --per-hour, --per-day or"
            " --per-week with them."
        )
    return _body(max_in_flight, None, None)


def _window(
    period: str, tz: str | None, start: str | None, weekday: str | None
) -> dict[str, Json]:
    if tz is None:
        raise click.UsageError(f"--tz is required with --per-{period}; no zone is guessed.")
    if weekday is not None and period != "week":
        raise click.UsageError("--weekday goes with --per-week only.")
    whole: dict[str, Json] = {"period": period, "tz": tz, "start": start}
    if start is None:
        whole["start"] = "00:00"
    if period == "week":
        whole["weekday"] = weekday or "Mon"
    return whole


def _body(cap: int | None, limit: int | None, window: dict[str, Json] | None) -> dict[str, Json]:
    return {"max_in_flight": cap, "max_claims_per_window": limit, "window": window}


def _path(endpoint: str, name: str) -> str:
    return f"/admission/{segment(_scope(endpoint))}/{segment(name)}"


def _scope(ref: str) -> str:
    """The API's name of an owner; what `show` prints may be typed as well."""
    return ref if ref.startswith(("team:", "endpoint:")) else f"endpoint:{ref}"


def _of_one(server: Operator, found: Answer, ref: str) -> Answer:
    """The policies of one owner alone. Raises Failure for one that is not ours."""
    kind, _, named = _scope(ref).partition(":")
    scope = f"{kind}:{_slug(server, kind, named)}"
    kept: list[Json] = [one for one in listed(found.body, "policies") if one.get("scope") == scope]
    body: dict[str, Json] = {**found.body, "policies": kept}
    return Answer(status=found.status, text=to_json(body), body=body)


def _slug(server: Operator, kind: str, ref: str) -> str:
    for one in listed(server.get(f"/{kind}s").body, f"{kind}s"):
        if ref in (one.get("slug"), one.get("id")):
            return str(one.get("slug"))
    raise Failure(f"No {kind} of yours is called {ref}.")
