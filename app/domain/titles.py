"""A delivery's one-line title: what the doorbell says (contract ingest.md, "Titles")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.domain.signatures import Source
from app.domain.titles_forge import PEOPLE, Recipe
from app.domain.titles_machinery import GITEA_ONLY, MACHINERY
from app.domain.titles_text import Line, Look, one_line, said, spell

_LONGEST_EVENT: Final = 80
_GITHUB: Final[Mapping[str, Recipe]] = {**PEOPLE, **MACHINERY}
_RECIPES: Final[Mapping[str, Mapping[str, Recipe]]] = {
    Source.GITHUB: _GITHUB,
    Source.GITEA: {**_GITHUB, **GITEA_ONLY},
}


def title_for(source: str, event: str | None, document: object) -> str:
    """One line of 1 to 200 characters for a delivery; never raises, whatever the shape.

    `event` is the sender's name of it (None when it names none); `document` is the parsed JSON
    body, or None when there is none.
    """
    name = one_line(event or "", _LONGEST_EVENT)
    look = Look(document)
    if source not in _RECIPES:
        return said(one_line(source, _LONGEST_EVENT), name or "delivery")
    recipe = _RECIPES[source].get(name)
    line = (recipe(look) if recipe else None) or _plain(source, name, look)
    return spell(line, look.text("repository", "full_name"))


def _plain(source: str, name: str, look: Look) -> Line:
    return Line(said(source, name or "delivery", look.words("action")))
