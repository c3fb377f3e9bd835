"""The forms of Settings: one for how pages look and speak, one for a new operator token."""

from __future__ import annotations

from secrets import token_urlsafe

from wtforms import Field, HiddenField, RadioField, SelectChoice, StringField, ValidationError

from app.domain import tokens, zones
from app.domain.errors import InvalidArgument
from app.web.forms import Form

THEMES = [
    SelectChoice(value="system", label="As the system is set"),
    SelectChoice(value="light", label="Light"),
    SelectChoice(value="dark", label="Dark"),
]
ANNOUNCEMENTS = [
    SelectChoice(value="counts_and_status", label="Counts and status"),
    SelectChoice(value="status_only", label="Status changes only"),
]


class PreferencesForm(Form):
    """Zone, theme and announcements; an empty zone means UTC."""

    zone = StringField("Time zone")
    theme = RadioField("Theme", choices=THEMES, validate_choice=False)
    announce = RadioField("Announcements", choices=ANNOUNCEMENTS, validate_choice=False)

    @property
    def zone_names(self) -> list[str]:
        """The zones the list under the field offers."""
        return sorted(zones.zone_names())

    @property
    def chosen_zone(self) -> str:
        """The zone to save: what was typed, without blanks around it."""
        return (self.zone.data or "").strip() or "UTC"

    def validate_zone(self, field: Field) -> None:
        """Only an embedded zone; a near one is suggested."""
        if self.chosen_zone not in zones.zone_names():
            raise ValidationError(f"Time zone: {unknown_zone(self.chosen_zone)}")

    def validate_theme(self, field: Field) -> None:
        """One of the choices, said in words of our own."""
        _require_choice(field, THEMES)

    def validate_announce(self, field: Field) -> None:
        """One of the choices, said in words of our own."""
        _require_choice(field, ANNOUNCEMENTS)


class OnceForm(Form):
    """A button that must act once: `once` names this opened form, so that it makes one thing."""

    once = HiddenField(default=lambda: token_urlsafe(16))


class TokenForm(OnceForm):
    """The name of a new operator token, of which the form mints one."""

    name = StringField("Name of the token", id="token-name")

    def validate_name(self, field: Field) -> None:
        """A name that can be told apart in the list."""
        try:
            tokens.check_name(field.data or "")
        except InvalidArgument as refused:
            raise ValidationError(
                f"Name of the token: use 1 to {tokens.NAME_MAX} characters, without line breaks "
                "or other control characters, for example the name of the computer."
            ) from refused


def unknown_zone(text: str) -> str:
    """What to say of a zone nobody knows, with the one that was probably meant."""
    near = zones.suggest(text)
    step = "Write one like Europe/Berlin." if near is None else f"Did you mean {near}?"
    return f'"{text[:64]}" is not a known zone. {step}'


def _require_choice(field: Field, choices: list[SelectChoice]) -> None:
    if field.data not in [choice.value for choice in choices]:
        raise ValidationError(f"{field.label.text}: choose one of the options.")
