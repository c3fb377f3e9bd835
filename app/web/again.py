"""A form that was refused, ready to be sent once more: the same labels, choices and values."""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app, request

from app.edge.csrf import FIELD
from app.web import forms
from app.web.forms import Form, Posts


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """One posted value that no declared field holds."""

    name: str
    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A refused form: as its view declared it, or else as plain text fields.

    `fields` is the template of the form's fields; `hidden` are values beside them, such as which
    button was pressed; `plain` are the values of a form nobody declared.
    """

    form: Form | None
    fields: str | None
    button: str
    hidden: list[Posted]
    plain: list[Posted]


def is_worth_keeping() -> bool:
    """Say whether the request posted a form of ours: one a view declared, or any value."""
    if request.method != "POST" or request.endpoint is None:
        return False
    return _declared() is not None or any(name != FIELD for name in request.form)


def kept_form(*, may_ask: bool) -> Kept:
    """The posted form. With `may_ask` the choices that belong to the viewer are read again;
    otherwise the poster is unknown, or the database away, and only what was posted is shown.
    """
    declared = _declared()
    if declared is None:
        return Kept(form=None, fields=None, button="Send again", hidden=[], plain=_posted(()))
    form = declared.form(formdata=request.form)
    if may_ask and declared.prepare is not None:
        declared.prepare(form)
    forms.offer_posted(form)
    names = tuple(field.name for field in form.shown())
    return Kept(
        form=form,
        fields=declared.fields,
        button=_pressed(declared),
        hidden=_posted(names),
        plain=[],
    )


def _declared() -> Posts | None:
    view = current_app.view_functions.get(request.endpoint or "")
    return None if view is None else forms.declared(view)


def _pressed(declared: Posts) -> str:
    """The label of the button that was pressed, for it is what is sent again."""
    sent = (f"{name}={text}" for name, text in request.form.items(multi=True))
    return next((declared.buttons[each] for each in sent if each in declared.buttons),
                declared.button)


def _posted(known: tuple[str, ...]) -> list[Posted]:
    return [
        Posted(name=name, label=_label(name), text=text)
        for name, text in request.form.items(multi=True)
        if name != FIELD and name not in known
    ]


def _label(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").strip().capitalize() or "Value"
