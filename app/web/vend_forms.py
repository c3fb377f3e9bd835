"""The forms of the vend wizard, one per step: fields and labels; what is valid, the domain says."""

from __future__ import annotations

from flask import request
from wtforms import (
    HiddenField,
    RadioField,
    SelectChoice,
    SelectMultipleField,
    StringField,
    TextAreaField,
)
from wtforms.widgets import CheckboxInput, ListWidget

from app.domain.errors import InvalidArgument
from app.domain.lifetimes import PRESETS, check_default_lease, parse_lifetime
from app.domain.queues import check_queue_name
from app.domain.signatures import Source
from app.domain.values import Json
from app.domain.vend_answers import UNTIL_REVOKED, VendAnswers
from app.domain.verbs import ADMISSION, BASICS, FAMILIES, GRANTABLE
from app.web import vend_words
from app.web.forms import Form
from app.web.vend_agent import AgentForm, StepForm

CUSTOM = "custom"

# As many names as the API's body could hold, roughly; a draft stays small.
_MOST_TEXT = 32 * 1024
_FAMILIES = {name: verbs for name, verbs in FAMILIES.items() if verbs != ADMISSION}


class QueuesForm(StepForm):
    """Step 2: which queues it may work, one per line."""

    queues = TextAreaField("Queues, one per line")

    def fill(self, answers: VendAnswers) -> None:
        """The names, or the API's default until they were answered."""
        self.queues.data = "\n".join(answers.queues or ("inbox",))

    def changes(self) -> dict[str, Json]:
        """The names in order; blank lines count for nothing."""
        text = self.queues.data or ""
        names = [line.strip() for line in text.splitlines() if line.strip()]
        if not names:
            raise InvalidArgument("Enter at least one queue name, such as inbox.", field="queues")
        if len(text) > _MOST_TEXT:
            raise InvalidArgument("Enter fewer queues: the list is too long.", field="queues")
        for name in names:
            check_queue_name(name, field="queues")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidArgument(f"Name the queue {twice} once only.", field="queues")
        return {"queues": [*names]}


class VerbsForm(StepForm):
    """Step 3: what it may call. Each family of verbs is a field of its own, see below.

    `limits` holds the verbs that change a budget. The template renders its boxes unchecked,
    whatever the field holds: on every load, a Back and a refused form included (REQ-10).
    """

    limits = SelectMultipleField(
        vend_words.LIMITS_LEGEND,
        description=vend_words.LIMITS_WARNING,
        choices=[SelectChoice(value=verb, label=vend_words.verb(verb)) for verb in ADMISSION],
        widget=ListWidget(),
        option_widget=CheckboxInput(),
    )

    def fill(self, answers: VendAnswers) -> None:
        """What was chosen, the basics until then; never a verb of `limits`."""
        chosen = answers.verbs or BASICS
        for family, verbs in _FAMILIES.items():
            self[family].data = [verb for verb in verbs if verb in chosen]

    def changes(self) -> dict[str, Json]:
        """The verbs in the order of the contract."""
        chosen = {verb for name in (*_FAMILIES, "limits") for verb in self[name].data or []}
        if not chosen:
            raise InvalidArgument("Choose at least one verb.", field=next(iter(_FAMILIES)))
        return {"verbs": [verb for verb in GRANTABLE if verb in chosen]}

    def families(self) -> list[SelectMultipleField]:
        """The fields of verbs that change no limit, in order."""
        return [self[name] for name in _FAMILIES]


for _name, _verbs in _FAMILIES.items():
    _choices = [SelectChoice(value=verb, label=vend_words.verb(verb)) for verb in _verbs]
    _field = SelectMultipleField(
        vend_words.family(_name),
        choices=_choices,
        widget=ListWidget(),
        option_widget=CheckboxInput(),
    )
    setattr(VerbsForm, _name, _field)


class WebhookForm(StepForm):
    """Step 4: what kind of sender its webhook takes deliveries from."""

    source = RadioField(
        "Source type",
        choices=vend_words.sources(),
    )

    def fill(self, answers: VendAnswers) -> None:
        """The type chosen, or the API's default."""
        self.source.data = answers.source or str(Source.GENERIC)

    def changes(self) -> dict[str, Json]:
        """The type; the field refuses any other by itself."""
        return {"source": self.source.data}


class LifetimeForm(StepForm):
    """Step 5: how long it lasts, and how long its claims do."""

    lifetime = RadioField(
        "Lifetime",
        choices=[
            SelectChoice(value=UNTIL_REVOKED, label="Until revoked"),
            *(SelectChoice(value=text, label=vend_words.lifetime(text)) for text in PRESETS),
            SelectChoice(value=CUSTOM, label="Another lifetime, written below"),
        ],
    )
    custom = StringField("Another lifetime")
    lease = StringField("Default lease in seconds")

    def fill(self, answers: VendAnswers) -> None:
        """What was chosen: a preset, or the text of another lifetime."""
        lasts = answers.lifetime or UNTIL_REVOKED
        is_preset = lasts in (UNTIL_REVOKED, *PRESETS)
        self.lifetime.data = lasts if is_preset else CUSTOM
        self.custom.data = None if is_preset else lasts
        self.lease.data = None if answers.lease is None else str(answers.lease)

    def changes(self) -> dict[str, Json]:
        """The lifetime in the grammar of the contract, and the lease in seconds or none."""
        lasts = self.lifetime.data
        if lasts == CUSTOM:
            lasts = (self.custom.data or "").strip()
            parse_lifetime(lasts, field="custom")
        return {"lifetime": lasts, "lease": parse_lease(self.lease.data, field="lease")}


class ConfirmForm(Form):
    """Step 6: which draft, as it was reviewed."""

    draft = HiddenField()
    seen = HiddenField()


FORMS: dict[str, type[StepForm]] = {
    "agent": AgentForm,
    "queues": QueuesForm,
    "verbs": VerbsForm,
    "webhook": WebhookForm,
    "lifetime": LifetimeForm,
}


def parse_lease(text: str | None, *, field: str) -> int | None:
    """A default lease typed into a form: whole seconds, or None for a blank.

    Raises InvalidArgument on `field` for anything else, and outside 60..86400.
    """
    typed = (text or "").strip()
    if not typed:
        return None
    is_number = typed.isascii() and typed.isdigit() and len(typed) < 10
    if not is_number or check_range(int(typed)) is None:
        raise InvalidArgument(
            "Enter the default lease as whole seconds from 60 to 86400, such as 900, or leave it"
            " empty.",
            field=field,
        )
    return int(typed)


def check_range(seconds: int) -> int | None:
    """The seconds when an endpoint may have them as its default lease, else None."""
    try:
        return check_default_lease(seconds)
    except InvalidArgument:
        return None


def is_review() -> bool:
    """Say whether a step was opened from the review, to which it then leads back."""
    return request.args.get("review") == "1"
