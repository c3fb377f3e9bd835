"""`work`: the reference worker, which runs a command for every todo it claims."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence

import click

from app.cli import credentials
from app.cli.frame import Leaf, pass_host
from app.cli.host import Host
from app.cli.output import Failure, wants_json
from app.cli.work_agent import Agent, OutOfReach, Refused
from app.cli.work_bells import Bells
from app.cli.work_child import CannotStart
from app.cli.work_lane import WAIT_SECONDS, Lanes
from app.cli.work_lanes import drain
from app.cli.work_lease import Work
from app.cli.work_say import Speaker
from app.cli.work_stop import Stop

GRACE_SECONDS = 10.0
SETTLE_SECONDS = 10.0  # after the grace, for ending commands and releasing their todos
MOST_LANES = 64


@click.command(cls=Leaf)
@click.option("--queue", "queues", multiple=True, metavar="Q", help="Only this one; may repeat.")
@click.option("--once", is_flag=True, help="One todo, or none within 30 s; then exit.")
@click.option(
    "--concurrency", type=click.IntRange(1, MOST_LANES), default=1, show_default=True,
    metavar="N", help="How many todos at a time.",
)  # fmt: skip
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_host
def work(
    host: Host, queues: Sequence[str], command: Sequence[str], concurrency: int, *, once: bool,
) -> None:  # fmt: skip
    """Claim todos and run COMMAND for each (write `--` before it).

    COMMAND gets the todo as JSON on standard input, and SWITCHBOARD_TODO_ID, SWITCHBOARD_QUEUE and
    SWITCHBOARD_ATTEMPT. Exit code 0 completes the todo with its output as result (JSON if it is
    JSON, at most 256 KiB); any other fails it with the last 2 KiB of its error output as summary.
    The lease is kept by heartbeats; when it is lost, COMMAND is ended.

    Between todos it waits for a doorbell, and asks every half minute while there is no stream. With
    --queue it opens none and asks: the bells of other queues would be lost on it.
    A queue whose policy admits no claim is no failure. The worker says once why it waits and until
    when, and leaves the queue alone until then, or until its bell rings.

    The credential is read from SWITCHBOARD_ENDPOINT_TOKEN and the server from SWITCHBOARD_URL.
    COMMAND sees no variable named SWITCHBOARD_ but the three above and SWITCHBOARD_URL: a todo is
    untrusted text, and whoever works on it needs no credential. Hand one on under another name if
    yours does.

    SIGTERM or Ctrl-C: nothing more is claimed, running commands have 10 s to finish, then they are
    ended and their todos released. A second signal cuts the 10 s short.
    """
    if once and concurrency > 1:
        raise click.UsageError("--once works on one todo; --concurrency has no place with it.")
    url, token = credentials.base_url(host.default_url), _token(host)
    stop = Stop(grace=GRACE_SECONDS, settle=SETTLE_SECONDS)
    speaker = Speaker(as_json=wants_json())

    def new_agent() -> Agent:
        return Agent(
            url, token, claimant=_claimant(), stop=stop, speaker=speaker,
            patience=WAIT_SECONDS if once else float("inf"),
        )  # fmt: skip

    shared = Work(
        command=tuple(command), environment=child_environment(host.environment, url),
        stop=stop, speaker=speaker,
    )  # fmt: skip
    lanes = Lanes(
        queues=tuple(dict.fromkeys(queues)), concurrency=concurrency, once=once,
        new_agent=new_agent, work=shared,
        bells=None if once or queues else Bells(url, token),
    )  # fmt: skip
    if not once:
        speaker.say(f"Waiting for todos of {url}; Ctrl-C stops.")
    try:
        drain(lanes)
    except (Refused, OutOfReach, CannotStart) as end:
        raise Failure(str(end)) from end


def child_environment(environment: Mapping[str, str], url: str) -> dict[str, str]:
    """What COMMAND inherits: everything but our own variables, then the server's URL."""
    kept = {key: text for key, text in environment.items() if not key.startswith("SWITCHBOARD_")}
    return {**kept, "SWITCHBOARD_URL": url}


def _token(host: Host) -> str:
    token = host.endpoint_token
    if not token:
        raise Failure("SWITCHBOARD_ENDPOINT_TOKEN is not set; `switchboard vend` prints one.")
    if not credentials.is_token(token):
        raise Failure("SWITCHBOARD_ENDPOINT_TOKEN is not a token.")
    return token


def _claimant() -> str:
    return f"switchboard work, {socket.gethostname()}, process {os.getpid()}"
