"""Policies, their use and their changes in words, tables and small bars."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime

import click

from app.cli.jsontext import escape
from app.cli.output import STATE_COLOURS, colourful, facts, inner, listed, table, word
from app.domain.values import Json
from app.domain.zones import UnknownZone, zone

HEADS = ("SCOPE", "QUEUE", "STATUS", "USED", "LIMIT", "IN-FLIGHT", "CAP", "RESETS")
BAR = 10
SENTENCES = {
    "paused": "paused: no claim is admitted",
    "window_exhausted": "the window's claims are used up",
    "in_flight_full": "as many todos are in flight as the cap allows",
    "admission_unavailable": "the policy cannot be judged, so no claim is admitted",
}
Body = dict[str, Json]


def overview(body: Body) -> list[str]:
    """One line for every policy of GET /admission."""
    return table(
        HEADS, [_row(one) for one in listed(body, "policies")],
        hint="No policies that you may change; `switchboard queue budget set` makes one.",
    )  # fmt: skip


def stored(body: Body) -> list[str]:
    """The policy that PUT stored, and what it admits now."""
    if body.get("policy") is None:
        return [_without_policy(body)]
    paused = [f"Queue {escape(word(body.get('queue')))} is paused."] if _pauses(body) else []
    return [*paused, *_facts(body)]


def detail(body: Body) -> Iterable[str]:
    """One queue: its policy and use, its last windows, and who changed it."""
    if body.get("policy") is None:
        yield _without_policy(body)
    else:
        yield from _facts(body)
    zone_name = word(inner(inner(body, "policy"), "window").get("tz"), "UTC")
    windows, changes = listed(body, "windows"), listed(body, "audit")
    if windows:
        yield ""
        heads = ("WINDOW", "USED", "LIMIT", "RETRIES", "TAKEOVERS")
        yield from table(heads, [_window(one, zone_name) for one in windows], hint="")
    if changes:
        yield ""
        heads = ("CHANGED", "BY", "FROM", "TO", "REASON")
        yield from table(heads, [_change(one) for one in changes], hint="")


def in_zone(instant: Json, name: str) -> str:
    """An instant of the API on the wall clock of a zone, with its name; as it came when this
    release does not know the zone."""
    if not isinstance(instant, str):
        return "-"
    try:
        local = datetime.fromisoformat(instant).astimezone(zone(name))
    except (ValueError, UnknownZone):
        return instant
    return f"{local:%Y-%m-%d %H:%M} {name}"


def policy(found: Json) -> str:
    """A policy in a few words."""
    if not isinstance(found, dict):
        return "no policy"
    parts = []
    limit, cap = found.get("max_claims_per_window"), found.get("max_in_flight")
    if limit is not None:
        parts.append(f"{word(limit)} a {window(found)}")
    if cap is not None:
        parts.append(f"{word(cap)} in flight")
    return ", ".join(parts)


def window(found: Body) -> str:
    """When a policy's windows begin."""
    one = inner(found, "window")
    day = f"{word(one.get('weekday'))} " if one.get("weekday") else ""
    return f"{word(one.get('period'))} from {day}{word(one.get('start'))} {word(one.get('tz'))}"


def bar(count: Json, limit: Json) -> str:
    """How much of a limit is used, drawn on a terminal; nothing without one or without a limit."""
    if not (sys.stdout.isatty() and isinstance(count, int) and isinstance(limit, int)):
        return ""
    full = BAR if count >= limit else count * BAR // limit
    filled, empty = ("█", "░") if _draws_blocks() else ("#", "-")
    return filled * full + empty * (BAR - full)


def _draws_blocks() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _row(one: Body) -> tuple[str, ...]:
    held, use = inner(one, "policy"), inner(one, "usage")
    limit, cap = held.get("max_claims_per_window"), held.get("max_in_flight")
    return (
        word(one.get("scope")),
        word(one.get("queue")),
        status(one),
        _counted(use.get("used"), limit),
        word(limit),
        _counted(use.get("in_flight"), cap),
        word(cap),
        _resets(one),
    )


def _counted(count: Json, limit: Json) -> str:
    return f"{word(count)} {bar(count, limit)}".rstrip()


def status(one: Body) -> str:
    """One word for what the policy says now: admitted, or why not."""
    found = inner(one, "status")
    return word(found.get("reason") or found.get("state"))


def _resets(one: Body) -> str:
    zone_name = word(inner(inner(one, "policy"), "window").get("tz"), "UTC")
    return in_zone(inner(one, "usage").get("window_resets_at"), zone_name)


def _pauses(body: Body) -> bool:
    held = inner(body, "policy")
    return 0 in (held.get("max_in_flight"), held.get("max_claims_per_window"))


def _without_policy(body: Body) -> str:
    name = f"{escape(word(body.get('scope')))} {escape(word(body.get('queue')))}"
    if status(body) == "admission_unavailable":
        return f"{name}: {SENTENCES['admission_unavailable']}; `set` replaces it."
    return f"{name} has no policy; claims are not limited."


def _facts(body: Body) -> list[str]:
    held, use = inner(body, "policy"), inner(body, "usage")
    limit, cap = held.get("max_claims_per_window"), held.get("max_in_flight")
    pairs = [
        ("scope", word(body.get("scope"))),
        ("queue", word(body.get("queue"))),
        ("status", status(body)),
        ("claims", _of(use.get("used"), limit)),
        ("in flight", _of(use.get("in_flight"), cap)),
        ("window", window(held) if held.get("window") else "-"),
        ("resets", _resets(body)),
        ("revision", word(body.get("revision"))),
    ]
    also = body.get("also_binding")
    if isinstance(also, list) and also:
        pairs.insert(3, ("also binding", word(also)))
    return [_coloured(line, body) for line in facts(pairs)]


def _coloured(line: str, body: Body) -> str:
    """The status line says more: in colour where that is wanted, why, and until when."""
    if not line.startswith("status "):
        return line
    found = status(body)
    said = SENTENCES.get(found)
    until = inner(body, "status").get("next_eligible_at")
    if said and isinstance(until, str):
        hint = "until" if inner(body, "status").get("exact") else "look again about"
        said += f", {hint} {until}"
    if colourful(sys.stdout) and found in STATE_COLOURS:
        line = line.replace(found, click.style(found, fg=STATE_COLOURS[found]))
    return f"{line}  ({escape(said)})" if said else line


def _of(count: Json, limit: Json) -> str:
    if limit is None:
        return f"{word(count)}, no limit" if count is not None else "no limit"
    return f"{word(count)} of {word(limit)}  {bar(count, limit)}".rstrip()


def _window(one: Body, zone_name: str) -> tuple[str, ...]:
    return (
        in_zone(one.get("window_start"), zone_name),
        word(one.get("used")),
        word(one.get("limit_at_last_charge")),
        word(one.get("retries")),
        word(one.get("takeovers")),
    )


def _change(one: Body) -> tuple[str, ...]:
    actor, agent = inner(one, "actor"), inner(one, "endpoint")
    who = word(actor.get("name") or actor.get("human_id"))
    if agent:
        who += f" (by {word(agent.get('slug') or agent.get('id'))})"
    return (
        word(one.get("at")),
        who,
        policy(one.get("before")),
        policy(one.get("after")),
        word(one.get("reason")),
    )
