"""The forms of a queue's page: what was typed, judged by the domain, and said field by field."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from wtforms import HiddenField, SelectChoice, SelectField, StringField, TextAreaField

from app.domain.errors import InvalidArgument
from app.domain.policy import (
    LONGEST_REASON,
    MOST_CLAIMS_PER_WINDOW,
    MOST_IN_FLIGHT,
    Policy,
    parse_policy,
    parse_reason,
    policy_body,
)
from app.domain.references import parse_row_number
from app.domain.values import Json
from app.domain.windows import WEEKDAYS
from app.domain.zones import suggest, zone_names
from app.web.forms import Form

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CHOICES = {
    "period": [("", "no window"), ("hour", "hour"), ("day", "day"), ("week", "week")],
    "weekday": [("", "none"), *zip(WEEKDAYS, _DAYS, strict=True)],
}
_DEFAULTS = {"period": "day", "start": "00:00"}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a form asks for, judged: a policy and a reason."""

    policy: Policy
    reason: str | None

    @property
    def mark(self) -> str:
        """A short name of the policy, so that a warning is confirmed for this one only."""
        text = json.dumps(policy_body(self.policy), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _choices(name: str) -> list[SelectChoice]:
    return [SelectChoice(value=value, label=label) for value, label in _CHOICES[name]]


class ReasonForm(Form):
    """Pause, resume and clear: an optional reason, and the revision the person saw."""

    reason = TextAreaField("Reason")
    revision = HiddenField()

    def seen_revision(self) -> int:
        """The revision that a save must find; what is no number is none that was ever stored."""
        return _revision(self.revision.data)

    def typed_reason(self) -> str | None:
        """The reason, or None; a wrong one is blamed and raises InvalidArgument."""
        try:
            return parse_reason(_lines(self.reason.data))
        except InvalidArgument as wrong:
            self.blame("reason", _reason_sentence(wrong, _lines(self.reason.data)))
            raise


class PolicyForm(ReasonForm):
    """The budget editor; every field is text as it was typed."""

    max_in_flight = StringField("In-flight cap")
    max_claims_per_window = StringField("Claims per window")
    period = SelectField("Period", choices=_choices("period"), validate_choice=False)
    tz = StringField("Zone")
    start = StringField("Start")
    weekday = SelectField("Weekday", choices=_choices("weekday"), validate_choice=False)
    # Once more, so that they come last, as on the page.
    reason = TextAreaField("Reason")
    revision = HiddenField()
    warned = HiddenField()

    @property
    def zones(self) -> list[str]:
        """Every zone a policy may name, for the list beside the field."""
        return sorted(zone_names())

    def fill(self, policy: Policy | None, zone: str | None) -> None:
        """Show a stored policy; without one, a day in the viewer's zone and no limit yet."""
        body = {} if policy is None else policy_body(policy)
        window = body.get("window")
        default: dict[str, Json] = {**_DEFAULTS, "tz": zone or "UTC"}
        held = window if isinstance(window, dict) else ({} if policy else default)
        self.max_in_flight.data = _text(body.get("max_in_flight"))
        self.max_claims_per_window.data = _text(body.get("max_claims_per_window"))
        for name in ("period", "tz", "start", "weekday"):
            self[name].data = _text(held.get(name))

    def typed(self) -> Typed | None:
        """The policy as the domain reads it; None when a field is wrong, and each says why."""
        raw, reason = self._raw(), None
        for wrong in _faults(raw):
            self.blame(_FIELDS.get(wrong, wrong), _sentence(wrong, raw))
        try:
            reason = self.typed_reason()
        except InvalidArgument:
            return None
        return None if self.problems() else Typed(policy=parse_policy(raw), reason=reason)

    def _raw(self) -> dict[str, Json]:
        window: dict[str, Json] = {
            name: _stripped(self[name].data) or None
            for name in ("period", "tz", "start", "weekday")
        }
        return {
            "max_in_flight": _number(self.max_in_flight.data),
            "max_claims_per_window": _number(self.max_claims_per_window.data),
            "window": window if window["period"] is not None else None,
        }


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


def _reason_sentence(wrong: InvalidArgument, typed: str) -> str:
    if len(typed) > LONGEST_REASON:
        return f"Reason (reason) is at most {LONGEST_REASON} characters; this one has {len(typed)}."
    return f"Reason ({wrong.sentence.replace(':', ')', 1)}"


def _number(typed: str | None) -> Json:
    text = _stripped(typed)
    if not text:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else text


def _revision(typed: str | None) -> int:
    text = _stripped(typed)
    return 0 if text == "0" else parse_row_number(text) or -1


def _stripped(typed: str | None) -> str:
    return (typed or "").strip()


def _lines(typed: str | None) -> str:
    # A browser sends CR LF where the person sees one character.
    return (typed or "").replace("\r\n", "\n")


def _text(value: Json) -> str:
    return "" if value is None else str(value)
