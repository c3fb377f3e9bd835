"""The forms of a queue's page: what was typed, judged by the domain, and said field by field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from wtforms import HiddenField, SelectChoice, SelectField, StringField, TextAreaField

from app.domain.errors import InvalidArgument
from app.domain.policy import (
    LONGEST_REASON,
    Policy,
    parse_policy,
    parse_reason,
    policy_body,
)
from app.domain.references import parse_row_number
from app.domain.values import Json
from app.domain.windows import WEEKDAYS
from app.domain.zones import zone_names
from app.web.forms import Form
from app.web.queue_faults import faults

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CHOICES = {
    "period": [("", "no window"), ("hour", "hour"), ("day", "day"), ("week", "week")],
    "weekday": [("", "none"), *zip(WEEKDAYS, _DAYS, strict=True)],
}
_DEFAULTS = {"period": "day", "start": "00:00"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a form asks for, judged: a policy and a reason; `left_out` says what was typed and is
    no part of the policy, empty for nothing.
    """

    policy: Policy
    reason: str | None
    left_out: str = ""

    @property
    def mark(self) -> str:
        """A short name of the policy, so that a warning is confirmed for this one only."""
        text = json.dumps(policy_body(self.policy), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _choices(name: str) -> list[SelectChoice]:
    return [SelectChoice(value=value, label=label) for value, label in _CHOICES[name]]


class ReasonForm(Form):
    """Resume and clear: an optional reason, and the revision the person saw. `readers` are those
    whom the reason is shown to.
    """

    readers = "everyone who may read the budget history"
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


class PauseForm(ReasonForm):
    """Pause: its reason stands on the queue's page, a plain member's too, until it is resumed."""

    readers = "everyone who can see the queue"


class PolicyForm(ReasonForm):
    """The budget editor; every field is text as it was typed. A limit of 0 is a pause."""

    readers = (
        f"{ReasonForm.readers}, and with an in-flight cap of 0 to {PauseForm.readers}"
    )

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

    def fill_broken(self, stored: Mapping[str, Json]) -> None:
        """Show a stored row that breaks the rules, as far as the fields can, and what is wrong."""
        window = stored.get("window")
        held = window if isinstance(window, dict) else {}
        for name in ("max_in_flight", "max_claims_per_window"):
            self[name].data = _text(stored.get(name))
        for name in ("period", "tz", "start", "weekday"):
            self[name].data = _text(held.get(name))
        self._judge({**stored})

    def typed(self) -> Typed | None:
        """The policy as the domain reads it; None when a field is wrong, and each says why."""
        raw, reason = self._raw(), None
        self._judge(raw)
        try:
            reason = self.typed_reason()
        except InvalidArgument:
            return None
        if self.problems():
            return None
        return Typed(policy=parse_policy(raw), reason=reason, left_out=self._left_out(raw))

    def _judge(self, raw: dict[str, Json]) -> None:
        for name, sentence in faults(raw):
            self.blame(name, sentence)

    def _left_out(self, raw: dict[str, Json]) -> str:
        """A sentence about what was typed of a window that there is none of; empty for nothing."""
        said = [
            self[name].label.text.lower()
            for name in ("tz", "start", "weekday")
            if raw["window"] is None and _stripped(self[name].data)
        ]
        if not said:
            return ""
        what = " and ".join([", ".join(said[:-1]), said[-1]] if said[1:] else said)
        return f"Without a period there is no window, so what you typed as {what} does not count."

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
