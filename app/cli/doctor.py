"""`doctor`: is this installation sound, and if not, what is to be done."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from app.cli.frame import Leaf, pass_host
from app.cli.host import Ground, Host
from app.cli.output import show_value, table
from app.domain.checks import Check
from app.domain.values import Json
from app.reads import checkup
from app.reads.checkup import Patient


@click.command("doctor", cls=Leaf)
@pass_host
def doctor(host: Host) -> int:
    """On the server host: check database, settings, secrets, disk.

    One line for each check, with what to do under it. Exit code 1 when one fails; a warning does
    not count. It changes nothing and migrates nothing. Settings are read from this shell: give it
    the environment of the server, or it judges another installation.
    """
    with host.ground() as ground:
        found = checkup.examine(_patient(ground), ground.site)
    is_sound = all(check.verdict != "fail" for check in found)
    told: list[Json] = [
        {"name": one.name, "verdict": one.verdict, "says": one.says, "do": one.do or None}
        for one in found
    ]
    show_value({"ok": is_sound, "checks": told}, _lines(found))
    return 0 if is_sound else 1


def _patient(ground: Ground) -> Patient:
    return Patient(
        pooled=ground.pooled,
        direct=ground.direct,
        names_direct=ground.names_direct,
        key=ground.key,
        key_place=ground.key_place,
        host_now=lambda: datetime.now(UTC),
        wake_ups_arrive=ground.wake_ups_arrive,
        away=ground.away,
        away_do=ground.away_do,
    )


def _lines(found: list[Check]) -> list[str]:
    rows = []
    for one in found:
        rows.append([one.verdict, one.name, one.says])
        if one.do:
            rows.append(["", "", f"-> {one.do}"])
    return table(["IS", "CHECK", "FOUND"], rows, hint="")
