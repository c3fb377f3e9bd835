"""`demo`: a minute of deliveries, budgets and workers on the embedded instance."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import click

from app.cli import budget_words
from app.cli.client import Client, NoAnswer, encoded
from app.cli.credentials import Credentials
from app.cli.demo_children import Running, orderly, server, workers
from app.cli.frame import Leaf, Operator, pass_host, segment
from app.cli.host import Host
from app.cli.output import Answer, Failure, inner, listed, show_value, table, wants_json, word
from app.db.database import Database
from app.domain.callers import Human
from app.domain.values import Json
from app.reads.first_human import first_human
from app.transactions import people

WORK = (
    "import json, sys, time\n"
    "todo = json.load(sys.stdin)\n"
    "time.sleep(1)\n"
    "print(json.dumps({'read': todo['title']}))\n"
)
TODO_LIMIT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One endpoint of the demo: its queue, its policy, what it is sent and who works on it."""

    agent: str
    queue: str
    policy: dict[str, Json]
    about: str
    deliveries: int
    concurrency: int


LANES = (
    Lane(
        agent="demo mail", queue="demo-mail", deliveries=8, concurrency=1,
        about="a budget of 5 claims a day",
        policy={"max_claims_per_window": 5, "window": {"period": "day", "tz": "UTC",
                                                       "start": "00:00"}},
    ),
    Lane(
        agent="demo review", queue="demo-review", deliveries=6, concurrency=4,
        about="a cap of 2 todos in flight, under 4 workers",
        policy={"max_in_flight": 2},
    ),
    Lane(
        agent="demo night", queue="demo-night", deliveries=3, concurrency=1,
        about="paused",
        policy={"max_in_flight": 0},
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Vended:
    """A lane that exists: its slug, its credential, and the two secrets of its webhook."""

    lane: Lane
    slug: str
    token: str
    ingest_path: str
    signing_secret: str


@click.command(cls=Leaf)
@click.option(
    "--seconds", type=click.IntRange(1, 3600), default=60, show_default=True, metavar="N",
    help="How long the workers run.",
)  # fmt: skip
@pass_host
def demo(host: Host, seconds: int) -> None:
    """See budgets at work on the embedded instance, for a minute.

    Vends three endpoints, sends each signed deliveries, and gives one a daily budget, one a cap on
    what is in flight, and pauses the third. Workers run for a minute; then it says what happened
    and where to look. All of it goes over HTTP, through the server that runs on this data or
    through one started for the while. The data stays; run it again for three more endpoints.
    """
    if not host.is_embedded:
        raise Failure(
            "The demo leaves data behind, so it runs on the embedded instance only: unset"
            " SWITCHBOARD_DATABASE_URL."
        )
    with contextlib.ExitStack() as stack:
        stack.enter_context(orderly())
        db = stack.enter_context(host.open_database())
        human = _human(db)
        token = people.mint_operator_token(db, human.id, "demo")
        url, was_running = stack.enter_context(server(host, token))
        operator = Operator(Credentials(url=url, token=token))
        stack.callback(operator.delete, "/token")
        _say(f"Using the server at {url}." if was_running else f"Started a server at {url}.")
        lanes = [_prepared(operator, url, lane) for lane in LANES]
        _run_workers(host, url, lanes, seconds)
        _report(operator, lanes, human, host.base_url, was_running=was_running)


def _human(db: Database) -> Human:
    made = people.first_human(db) or first_human(db)
    return made or people.create_human(db, display_name="demo")


def _say(sentence: str) -> None:
    """Tell the story while it happens; with --json the end alone is printed."""
    if not wants_json():
        click.echo(sentence)


def _prepared(operator: Operator, url: str, lane: Lane) -> Vended:
    body = operator.post("/endpoints", {
        "name": lane.agent, "queues": [lane.queue], "webhook_source_type": "github",
    }).body  # fmt: skip
    hook = inner(body, "webhook")
    vended = Vended(
        lane=lane, slug=word(body.get("slug")), token=word(body.get("token")),
        ingest_path=urlsplit(word(hook.get("ingest_url"))).path,
        signing_secret=word(hook.get("signing_secret")),
    )  # fmt: skip
    operator.put(_path(vended), {**lane.policy, "reason": "the demo"})
    _say(f"Vended {vended.slug} for queue {lane.queue}: {lane.about}.")
    created = _deliver(Client(url, None), vended)
    _say(f"  sent {lane.deliveries} signed deliveries, the first one twice: {created} todos")
    return vended


def _path(vended: Vended) -> str:
    return f"/admission/{segment(f'endpoint:{vended.slug}')}/{segment(vended.lane.queue)}"


def _deliver(client: Client, vended: Vended) -> int:
    """Send the lane's deliveries as a forge would, and the first once more: how many todos."""
    created = 0
    run = secrets.token_hex(8)
    for number in (1, *range(1, vended.lane.deliveries + 1)):
        body: dict[str, Json] = {
            "action": "opened",
            "issue": {"number": number, "title": f"Sample {number} for {vended.lane.queue}"},
            "repository": {"full_name": "demo/samples"},
            "sender": {"login": "demo"},
        }
        answer = _sent(client, vended, body, f"demo-{run}-{number}")
        made = answer.body.get("created")
        created += made if isinstance(made, int) else 0
    return created


def _sent(client: Client, vended: Vended, body: dict[str, Json], delivery: str) -> Answer:
    signature = hmac.new(vended.signing_secret.encode(), encoded(body), hashlib.sha256)
    headers = {
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={signature.hexdigest()}",
    }
    try:
        answer = client.call("POST", vended.ingest_path, body, headers=headers)
    except NoAnswer as silence:
        raise Failure(silence.sentence) from silence
    if answer.status != 202:
        raise Failure(f"A delivery was refused: {answer.body.get('error')}", body=answer.text)
    return answer


def _run_workers(host: Host, url: str, lanes: Sequence[Vended], seconds: int) -> None:
    _say(f"Workers run for {seconds} s:")
    with workers([_worker(host, url, one) for one in lanes]):
        time.sleep(seconds)


def _worker(host: Host, url: str, vended: Vended) -> Running:
    words = ["work", "--concurrency", str(vended.lane.concurrency), "--"]
    secret = {"SWITCHBOARD_URL": url, "SWITCHBOARD_ENDPOINT_TOKEN": vended.token}
    is_quiet = wants_json()

    def hear(line: str) -> None:
        if not is_quiet:
            click.echo(f"  {vended.lane.agent}: {line}")

    return Running(host, [*words, sys.executable, "-c", WORK], secret, hear)


def _report(
    operator: Operator, lanes: Sequence[Vended], human: Human, url: str, *, was_running: bool
) -> None:
    found = [_outcome(operator, one) for one in lanes]
    body: dict[str, Json] = {"url": url, "human_id": str(human.id), "endpoints": [*found]}
    lines = ["", "What happened:", *_outcomes(lanes, found), "", "Where to look:"]
    if not was_running:
        lines.append("  switchboard serve           the server was for the demo; start it again")
    lines += [
        f"  switchboard admin login-url --human {human.id}",
        f"      a link into the board at {url}",
        f"  switchboard admin token --human {human.id} | switchboard login --token-stdin",
        f"  switchboard queue budget show {lanes[0].slug} {lanes[0].lane.queue}",
        f"  switchboard queue budget clear {lanes[2].slug} {lanes[2].lane.queue}",
        "      opens the paused queue",
        "  switchboard queue budget verify    units charged beside attempts",
    ]
    show_value(body, lines)


def _outcome(operator: Operator, vended: Vended) -> dict[str, Json]:
    seen = operator.get("/todos", {"endpoint": vended.slug, "limit": TODO_LIMIT}).body
    states = Counter(word(one.get("state")) for one in listed(seen, "todos"))
    judged = operator.get(_path(vended)).body
    kept: dict[str, Json] = {key: judged.get(key) for key in ("policy", "status", "usage")}
    return {"slug": vended.slug, "queue": vended.lane.queue, "todos": {**states}, **kept}


def _outcomes(lanes: Sequence[Vended], found: Sequence[dict[str, Json]]) -> list[str]:
    heads = ("ENDPOINT", "QUEUE", "POLICY", "DONE", "PENDING", "USED", "STATUS")
    rows = [
        (
            one.slug,
            one.lane.queue,
            one.lane.about,
            word(inner(told, "todos").get("done"), "0"),
            word(inner(told, "todos").get("pending"), "0"),
            word(inner(told, "usage").get("used")),
            budget_words.status(told),
        )
        for one, told in zip(lanes, found, strict=True)
    ]
    return [f"  {line}" for line in table(heads, rows, hint="")]
