"""`endpoint clock-in`, `clock-out`, `presence`, `shift`: when doorbells may ring."""

from __future__ import annotations

import click

from app.cli.frame import Leaf, operator, pass_host, present, segment
from app.cli.host import Host
from app.cli.output import Answer, facts, show, word
from app.domain.values import Json

_UNTIL = click.option(
    "--until", metavar="T", help="An instant to come, such as 2026-12-24T18:00:00Z."
)


@click.command("clock-in", cls=Leaf)
@click.argument("ref")
@_UNTIL
@pass_host
def clock_in(host: Host, ref: str, until: str | None) -> None:
    """Let doorbells ring for REF, whatever its shift says.

    It holds up to the shift's next boundary, or until the instant you name.
    """
    _show(_override(host, ref, "in", until))


@click.command("clock-out", cls=Leaf)
@click.argument("ref")
@_UNTIL
@pass_host
def clock_out(host: Host, ref: str, until: str | None) -> None:
    """Let no doorbell ring for REF; it may work all the same.

    It holds up to its shift's next boundary, or until the instant you name.
    """
    _show(_override(host, ref, "out", until))


@click.command("presence", cls=Leaf)
@click.argument("ref")
@pass_host
def presence(host: Host, ref: str) -> None:
    """Say whether REF is in, and how much waits for it.

    It says by whose word, too, and until when.
    """
    _show(operator(host).get(f"/endpoints/{segment(ref)}/presence"))


@click.command("shift", cls=Leaf)
@click.argument("ref")
@click.argument("shift", required=False)
@click.option("--clear", "clears", is_flag=True, help="Take the shift away.")
@pass_host
def shift(host: Host, ref: str, shift: str | None, *, clears: bool) -> None:
    """Show the shift of REF, set SHIFT, or take it away.

    SHIFT is written like "TZ=Europe/Berlin Mon-Fri 09:00-17:00". A semicolon separates several
    windows. A window without days holds every day; one that ends before it begins runs into the
    next day. The zone is UTC unless SHIFT begins with TZ=ZONE.

    \b
    switchboard endpoint shift lane-m "TZ=Europe/Berlin Mon-Thu 09:00-17:00; Fri 09:00-13:00"
    switchboard endpoint shift lane-m "22:00-06:00"
    """
    server, path = operator(host), f"/endpoints/{segment(ref)}"
    if clears and shift is not None:
        raise click.UsageError("Give a shift or --clear, not both.")
    if shift is None and not clears:
        _show(server.get(f"{path}/presence"))
        return
    _show(server.put(f"{path}/shift", {"shift": shift}))


COMMANDS = (clock_in, clock_out, presence, shift)


def _override(host: Host, ref: str, said: str, until: str | None) -> Answer:
    body: dict[str, Json] = {"presence": said, "until": until}
    return operator(host).put(f"/endpoints/{segment(ref)}/presence", present(body))


def _show(answer: Answer) -> None:
    show(answer, _lines)


def _lines(body: dict[str, Json]) -> list[str]:
    return facts((name, word(body.get(name))) for name in (
        "presence", "source", "until", "shift", "pending",
    ))  # fmt: skip
