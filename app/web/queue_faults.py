"""What is wrong with a policy, field by field and in sentences, with a guess at what was meant."""

from __future__ import annotations

import re

from app.domain.errors import InvalidArgument
from app.domain.policy import MOST_CLAIMS_PER_WINDOW, MOST_IN_FLIGHT, parse_policy
from app.domain.values import Json
from app.domain.zones import suggest

_NEITHER = (
    "Set an in-flight cap (max_in_flight), claims per window (max_claims_per_window), or both."
)
# For every field that can be wrong: the form's field, and its sentence.
_FIELDS = {
    "max_in_flight": "max_in_flight",
    "max_claims_per_window": "max_claims_per_window",
    "window": "period",
    "window.period": "period",
    "window.tz": "tz",
    "window.start": "start",
    "window.weekday": "weekday",
}
_SENTENCES = {
    "max_in_flight": f"In-flight cap (max_in_flight) must be a whole number from 0 to"
    f" {MOST_IN_FLIGHT}. Leave it empty for no limit.",
    "max_claims_per_window": f"Claims per window (max_claims_per_window) must be a whole number"
    f" from 0 to {MOST_CLAIMS_PER_WINDOW}. Leave it empty for no limit.",
    "window": "Claims per window need a window: choose a period (window.period), a zone and a"
    " start.",
    "window.period": "Period (window.period) must be hour, day or week.",
}
# A value that passes, so that the fields behind a wrong one are judged as well.
_PASSING: dict[str, Json] = {"period": "day", "tz": "UTC", "start": "00:00"}


def faults(raw: dict[str, Json]) -> list[tuple[str, str]]:
    """The form's field and its sentence for everything the domain refuses of a policy as JSON."""
    return [(_FIELDS.get(wrong, wrong), _sentence(wrong, raw)) for wrong in _faults(raw)]


def _faults(raw: dict[str, Json]) -> list[str]:
    """Every field the domain refuses, in its order: each is mended, then the rest is asked."""
    found: list[str] = []
    mended = raw
    while True:
        try:
            parse_policy(mended)
        except InvalidArgument as wrong:
            if wrong.field is None or wrong.field in found:
                return found
            found.append(wrong.field)
            mended = _mended(mended, wrong.field)
        else:
            return found


def _mended(raw: dict[str, Json], field: str) -> dict[str, Json]:
    window = raw["window"]
    held = dict(window) if isinstance(window, dict) else {}
    if not field.startswith("window"):
        return {**raw, field: 1}
    if field == "window":
        return {**raw, "window": _PASSING}
    name = field.removeprefix("window.")
    held[name] = _PASSING.get(name, "Mon" if held.get("period") == "week" else None)
    return {**raw, "window": held}


def _sentence(field: str, raw: dict[str, Json]) -> str:
    window = raw["window"]
    held = window if isinstance(window, dict) else {}
    if field == "max_in_flight" and raw[field] is None:
        return _NEITHER
    if field == "window.tz":
        return f"Zone (window.tz) must be an IANA zone name. {_zone_guess(_text(held.get('tz')))}"
    if field == "window.start":
        return f"Start (window.start) must be HH:MM. {_start_guess(_text(held.get('start')))}"
    if field == "window.weekday":
        return _weekday_sentence(held.get("period"))
    return _SENTENCES[field]


def _weekday_sentence(period: Json) -> str:
    if period == "week":
        return "A weekly window needs a weekday (window.weekday): choose one."
    return "Weekday (window.weekday) is only for weekly: choose none."


def _zone_guess(typed: str) -> str:
    near = suggest(typed)
    return "One is America/Los_Angeles." if near is None else f"Did you mean {near}?"


def _start_guess(typed: str) -> str:
    found = re.fullmatch(r"([0-9]{1,2})[:.h]?([0-9]{2})?", typed.strip())
    hour, minute = (int(part or 0) for part in found.groups()) if found else (24, 0)
    if hour < 24 and minute < 60:
        return f"Did you mean {hour:02d}:{minute:02d}?"
    return "One is 09:30."


def _text(value: Json) -> str:
    return "" if value is None else str(value)
