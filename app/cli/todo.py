"""`todo`: push work, look at it, and settle what a human may settle."""

from __future__ import annotations

import click

from app.cli.event import more
from app.cli.frame import Branch, agreed, operator, pass_host, present, segment
from app.cli.host import Host
from app.cli.jsontext import escape, parse_one
from app.cli.output import Answer, facts, listed, show, table, to_json, word
from app.cli.team_queues import push_to_team
from app.domain.queues import TEAM_PREFIX
from app.domain.values import Json


class JsonText(click.ParamType["Given"]):
    """JSON on the command line, by the rules of a request body."""

    name = "JSON"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Given:
        """The value wrapped, so that null differs from nothing. Not JSON is wrong usage."""
        try:
            return Given(parse_one(str(value)))
        except ValueError:
            self.fail("this is not JSON; quote it for your shell.", param, ctx)


class Given:
    """A JSON value that was given, null included."""

    def __init__(self, value: Json):
        self.value = value


@click.group(cls=Branch)
def todo() -> None:
    """Todos: the work itself."""


@todo.command("push")
@click.argument("ref")
@click.argument("title")
@click.option("--queue", metavar="Q", help="Its first queue by default; a team has no default.")
@click.option("--kind", metavar="K", help="What kind of work, `operator` by default.")
@click.option("--payload", type=JsonText(), help="What the agent gets with it.")
@click.option("--key", metavar="K", help="Makes a repeat find the todo that is still open.")
@pass_host
def push(
    host: Host, ref: str, title: str, queue: str | None, kind: str | None,
    payload: Given | None, key: str | None,
) -> None:  # fmt: skip
    """Give the endpoint REF a todo, or a team's queue.

    A team is written team:SLUG as REF, and needs --queue.

    \b
    switchboard todo push lane-m-k3x9 "Look at issue 41"
    switchboard todo push team:core "Look at issue 41" --queue builds
    """
    body = present({"title": title, "kind": kind, "key": key})
    if payload is not None:
        body["payload"] = payload.value
    if ref.startswith(TEAM_PREFIX):
        slug, name = _team_queue(ref, queue)
        show(push_to_team(host, slug, name, body), _pushed)
        return
    body |= present({"queue": queue})
    show(operator(host).post(f"/endpoints/{segment(ref)}/todos", body), _pushed)


@todo.command("list")
@click.option("--queue", metavar="Q", help="Only this queue.")
@click.option("--state", type=click.Choice(["pending", "claimed", "done", "failed"]))
@click.option("--endpoint", metavar="REF", help="Only this endpoint's.")
@click.option("--team", metavar="SLUG", help="Only this team's.")
@click.option("--limit", type=click.IntRange(1, 200), help="How many, 50 by default.")
@click.option("--cursor", help="Where the last page ended.")
@pass_host
def list_todos(
    host: Host, queue: str | None, state: str | None, endpoint: str | None, team: str | None,
    limit: int | None, cursor: str | None,
) -> None:  # fmt: skip
    """List todos, newest first."""
    answer = operator(host).get(
        "/todos",
        {
            "queue": queue, "state": state, "endpoint": endpoint, "team": team,
            "limit": limit, "cursor": cursor,
        },
    )  # fmt: skip
    show(
        answer,
        lambda body: table(
            ("ID", "QUEUE", "STATE", "ATTEMPT", "CREATED", "TITLE"),
            [_row(one) for one in listed(body, "todos")],
            hint="No todos; `switchboard todo push REF TITLE` makes one.",
        ),
    )
    more(answer.body)


@todo.command("show")
@click.argument("todo_id", metavar="ID")
@pass_host
def show_todo(host: Host, todo_id: str) -> None:
    """Show one todo with its payload, result and attempts."""
    show(operator(host).get(f"/todos/{segment(todo_id)}"), _detail)


@todo.command("retry")
@click.argument("todo_id", metavar="ID")
@pass_host
def retry(host: Host, todo_id: str) -> None:
    """Make a failed todo pending again; attempts count anew."""
    _settled(_act(host, todo_id, "retry", {}))


@todo.command("discard")
@click.argument("todo_id", metavar="ID")
@click.option("-y", "--yes", "sure", is_flag=True, help="Do not ask.")
@pass_host
def discard(host: Host, todo_id: str, *, sure: bool) -> None:
    """Dead-letter a todo that is pending or waits for a retry."""
    operator(host)
    if agreed(f"Discard {todo_id}?", skip=sure):
        _settled(_act(host, todo_id, "discard", {}))


@todo.command("release")
@click.argument("todo_id", metavar="ID")
@click.option("--summary", help="What was found out so far.")
@click.option("--artifact", metavar="URL", help="Where to see it, https.")
@pass_host
def release(host: Host, todo_id: str, summary: str | None, artifact: str | None) -> None:
    """Give back a todo you claimed on the board."""
    _settled(_act(host, todo_id, "release", _settlement(None, summary, artifact)))


@todo.command("complete")
@click.argument("todo_id", metavar="ID")
@click.option("--result", type=JsonText(), help="What came out.")
@click.option("--summary", help="What was done.")
@click.option("--artifact", metavar="URL", help="Where to see it, https.")
@pass_host
def complete(
    host: Host, todo_id: str, result: Given | None, summary: str | None, artifact: str | None
) -> None:
    """Complete a todo you claimed on the board."""
    _settled(_act(host, todo_id, "complete", _settlement(result, summary, artifact)))


@todo.command("fail")
@click.argument("todo_id", metavar="ID")
@click.option("--result", type=JsonText(), help="What came out.")
@click.option("--summary", help="Why it failed.")
@click.option("--artifact", metavar="URL", help="Where to see it, https.")
@pass_host
def fail(
    host: Host, todo_id: str, result: Given | None, summary: str | None, artifact: str | None
) -> None:
    """Fail a todo you claimed on the board."""
    _settled(_act(host, todo_id, "fail", _settlement(result, summary, artifact)))


def _settlement(
    result: Given | None, summary: str | None, artifact: str | None
) -> dict[str, Json]:
    body = present({"summary": summary, "artifact": artifact})
    if result is not None:
        body["result"] = result.value
    return body


def _act(host: Host, todo_id: str, action: str, body: dict[str, Json]) -> Answer:
    return operator(host).post(f"/todos/{segment(todo_id)}/{action}", body)


def _settled(answer: Answer) -> None:
    show(answer, lambda body: [f"{word(body.get('id'))} is {_state(body)}."])


def _state(body: dict[str, Json]) -> str:
    if body.get("dead_letter") is True:
        return "failed (dead letter)"
    due = body.get("next_retry_at")
    return f"{word(body.get('state'))}" + (f", retried at {word(due)}" if due else "")


def _team_queue(ref: str, queue: str | None) -> tuple[str, str]:
    """The team and the queue that were meant. Raises UsageError when one is missing."""
    slug = ref.removeprefix(TEAM_PREFIX)
    if not slug or "/" in slug:
        raise click.UsageError(f"{ref!r} is no team; write team:SLUG, and name --queue.")
    if not queue:
        raise click.UsageError(f"--queue is required with {ref}; a team has no default queue.")
    return slug, queue


def _pushed(body: dict[str, Json]) -> list[str]:
    made = "is in" if body.get("created") is not False else "was there already, in"
    return [f"{word(body.get('id'))} {made} {word(body.get('queue'))}."]


def _row(one: dict[str, Json]) -> tuple[str, ...]:
    return (
        word(one.get("id")),
        word(one.get("queue")),
        word(one.get("state")),
        f"{word(one.get('attempt'))}/{word(one.get('max_attempts'))}",
        word(one.get("created_at")),
        word(one.get("title")),
    )


def _detail(body: dict[str, Json]) -> list[str]:
    apart = ("attempts", "payload", "result")
    lines = facts(
        (name.replace("_", " "), word(value)) for name, value in body.items() if name not in apart
    )
    for name in ("payload", "result"):
        if body.get(name) is not None:
            lines += ["", name, f"  {escape(to_json(body[name]))}"]
    return [*lines, "", *_attempts(body)]


def _attempts(body: dict[str, Json]) -> list[str]:
    heads = ("SEQ", "CLAIMED", "ENDED", "OUTCOME", "CLAIMANT", "SUMMARY")
    names = ("seq", "claimed_at", "ended_at", "outcome", "claimant", "summary")
    rows = [tuple(word(one.get(name)) for name in names) for one in listed(body, "attempts")]
    return table(heads, rows, hint="No attempts yet.")
