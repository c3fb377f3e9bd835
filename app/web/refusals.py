"""What a verb refused, in the words of the page that sent it."""

from __future__ import annotations

from app.domain.errors import DomainError
from app.web.forms import Form


def sentence(form: Form, refused: DomainError) -> str:
    """The sentence, with the label of the page where the API's has its own name of the field."""
    head, colon, rest = refused.sentence.partition(": ")
    if not colon or " " in head:
        return refused.sentence
    label = form[head].label.text.partition(",")[0] if head in form else head.capitalize()
    return f"{label}: {rest}"
