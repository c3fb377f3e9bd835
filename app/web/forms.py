"""The base of every form: Flask-WTF's, guarded by our own session's token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from flask import request
from flask_wtf import FlaskForm
from werkzeug.datastructures import MultiDict
from wtforms import Field, SelectChoice, SelectField, SelectMultipleField
from wtforms.widgets import ListWidget

from app.edge.csrf import FIELD, SessionCsrf

View = TypeVar("View", bound=Callable[..., object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One line of an error summary; `href` leads to the control, None for the whole form."""

    href: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the macros need to know of a field: `kind` is line, check, group or hidden."""

    kind: str
    message: str
    describedby: str | None
    invalid: str | None


class Form(FlaskForm):
    """A form whose hidden `csrf_token` comes from the live session; there is no SECRET_KEY."""

    class Meta(FlaskForm.Meta):
        """Where WTForms looks for the token: in `app/edge/csrf.py`, not in Flask's session."""

        csrf = True
        csrf_class = SessionCsrf
        csrf_field_name = FIELD
        csrf_context = None
        csrf_secret = None

        def wrap_formdata(self, form: object, formdata: object) -> object:
            """Of a post the text fields alone: a file, or JSON, in the place of a text would reach
            the view as something that is no text.
            """
            if formdata is None or isinstance(formdata, MultiDict):
                return formdata
            return request.form if request.method == "POST" else None

    def shown(self) -> Iterator[Field]:
        """The fields in their order, without the token."""
        return (field for field in self if field.name != FIELD)

    def problems(self) -> list[Problem]:
        """What is wrong, field by field and then with the form as a whole, for the summary."""
        found = [
            Problem(href=f"#{_focus_id(field)}", text=text)
            for field in self.shown()
            for text in field.errors
        ]
        return found + [Problem(href=None, text=text) for text in self.form_errors]

    def blame(self, name: str | None, sentence: str) -> None:
        """Add what a verb refused to the field of that name; to the form when it has none."""
        if name is None or name not in self._fields:
            self.form_errors.append(sentence)
            return
        field = self._fields[name]
        field.errors = [*field.errors, sentence]


@dataclass(frozen=True, slots=True, kw_only=True)
class Posts:
    """How to show a posted form once more when its session or its token is over (E12)."""

    form: type[Form]
    fields: str | None
    button: str
    buttons: Mapping[str, str]
    prepare: Callable[[Form], None] | None


_DECLARED: dict[object, Posts] = {}


def posts(
    form: type[Form],
    fields: str | None = None,
    *,
    button: str = "Send again",
    buttons: Mapping[str, str] | None = None,
    prepare: Callable[[Form], None] | None = None,
) -> Callable[[View], View]:
    """Declare the form that a view takes by POST, so that a refusal can render the same one.

    `fields` names a template that renders the fields of `form` and needs nothing else; without
    it each field is shown in its order. `button` is the label of the form's first button;
    `buttons` are those of the others, by the `name=value` that each one sends.
    `prepare` fills choices that are the viewer's own: it is asked only when somebody is signed
    in, and with its choices missing the posted ones stand in.
    Source: identity.md, "Sessions and pages"; accessibility.md 4.3, E12.
    """

    def declare(view: View) -> View:
        _DECLARED[view] = Posts(
            form=form, fields=fields, button=button, buttons=buttons or {}, prepare=prepare
        )
        return view

    return declare


def acts(button: str) -> Callable[[View], View]:
    """Declare a view that takes one button and what the page sent with it; nobody typed
    anything, so a refusal shows the button again and carries the rest unseen.
    """
    return posts(Form, button=button)


def declared(view: object) -> Posts | None:
    """What a view said about the form it takes; None when it said nothing."""
    return _DECLARED.get(view)


def offer_posted(form: Form) -> None:
    """Give a field that has no choices the posted ones, so that they can be shown and sent."""
    for field in form.shown():
        if isinstance(field, SelectField | SelectMultipleField) and not field.choices:
            field.choices = [SelectChoice(value=text) for text in field.raw_data or [] if text]


def words(field: Field, hint: str | None, describedby: str | None) -> Words:
    """The facts of one field for macros/forms.html."""
    ids = [describedby] if describedby else []
    ids += [f"{field.id}-hint"] if hint else []
    ids += [f"{field.id}-error"] if field.errors else []
    return Words(
        kind=_kind(field),
        message=" ".join(field.errors),
        describedby=" ".join(ids) or None,
        invalid="true" if field.errors else None,
    )


def _kind(field: Field) -> str:
    if isinstance(field.widget, ListWidget):
        return "group"
    kind = getattr(field.widget, "input_type", "text")
    return {"hidden": "hidden", "checkbox": "check"}.get(kind, "line")


def _focus_id(field: Field) -> str:
    return f"{field.id}-0" if _kind(field) == "group" else str(field.id)
