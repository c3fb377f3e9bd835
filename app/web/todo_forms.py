"""The forms of todos: how a claim ends, and a new todo."""

from __future__ import annotations

from wtforms import HiddenField, StringField, TextAreaField

from app.domain import strictjson
from app.domain.authoring import DEFAULT_KIND, NewWork
from app.domain.errors import InvalidArgument, InvalidAttemptInput
from app.domain.todos import check_artifact, summary_of
from app.domain.values import Json
from app.transactions.settling import Settlement
from app.web.forms import Form

# As the API takes in one body (operator-api.md, "Rules").
LONGEST_JSON_BYTES = 64 * 1024
_FIELDS_OF_WORK = {"title": "Title", "kind": "Kind", "key": "Key"}


class SettleForm(Form):
    """What may be said with complete and fail; nothing of it has to be."""

    result = TextAreaField("Result")
    summary = TextAreaField("Summary")
    artifact = StringField("Artifact")


class AddForm(Form):
    """A new todo. `once` names this opened form, so that a second click adds nothing."""

    title = StringField("Title")
    kind = StringField("Kind", default=DEFAULT_KIND)
    payload = TextAreaField("Payload")
    key = StringField("Key")
    once = HiddenField()


def read_settlement(form: SettleForm, *, from_result: bool) -> Settlement | None:
    """What the form says, or None with its faults on their fields. With `from_result` a missing
    summary is taken from the result (todos.md, "Attempts").
    """
    result = _json(form, "result", form.result.data)
    artifact = (form.artifact.data or "").strip() or None
    try:
        check_artifact(artifact)
    except InvalidAttemptInput:
        form.blame(
            "artifact",
            "Artifact must be a whole https address of at most 512 bytes, like "
            "https://example.com/report, without spaces.",
        )
    if form.problems():
        return None
    has_result = bool((form.result.data or "").strip())
    taken = summary_of(result) if from_result and has_result else None
    return Settlement(
        result=result,
        has_result=has_result,
        summary=(form.summary.data or "").strip() or taken,
        artifact=artifact,
    )


def read_work(form: AddForm) -> NewWork | None:
    """The todo the form describes, or None with the payload's fault on its field."""
    payload = _json(form, "payload", form.payload.data)
    if form.problems():
        return None
    return NewWork(
        title=form.title.data or "",
        kind=(form.kind.data or "").strip() or DEFAULT_KIND,
        payload=payload,
        key=form.key.data or None,
    )


def blame_work(form: AddForm, wrong: InvalidArgument) -> None:
    """Hang what the verb refused on the field it names, as a sentence that begins with its name."""
    name = wrong.field or ""
    said = wrong.sentence.removeprefix(f"{name}: ")
    label = _FIELDS_OF_WORK.get(name)
    form.blame(wrong.field, wrong.sentence if label is None else f"{label}: {said}")


def _json(form: Form, name: str, text: str | None) -> Json:
    typed = text or ""
    if not typed.strip():
        return None
    label = name.capitalize()
    if len(typed.encode("utf-8", "replace")) > LONGEST_JSON_BYTES:
        form.blame(name, f"{label} takes at most 64 KiB of JSON.")
        return None
    try:
        return strictjson.parse_text(typed, name=label)
    except InvalidArgument as wrong:
        form.blame(name, wrong.sentence)
        return None
