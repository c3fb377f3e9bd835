"""What every page carries around its own content: navigation, theme, flash, form words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flask import Flask, request

from app.domain.isolating import isolate
from app.edge.csrf import FIELD, csrf_token
from app.edge.deps import database, session
from app.reads.identity import SessionFacts
from app.transactions import flashes
from app.web import forms, present_live
from app.web.present_live import LiveControl

_TEAMS = "/teams"
_VIEWS = (
    ("/", "Board"),
    ("/todos", "Todos"),
    ("/endpoints", "Endpoints"),
    ("/webhooks", "Webhooks"),
    ("/budgets", "Budgets"),
    (_TEAMS, "Teams"),
    ("/settings", "Settings"),
    ("/help", "Help"),
)
# A page without a session still has forms; their token only has to be there (identity.md).
_NO_TOKEN = "signed-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One entry of the navigation; `current` is `page`, `true` for a page below it, or None."""

    href: str
    label: str
    current: str | None


def install(app: Flask) -> None:
    """Give the templates of an application what base.html and the macros need."""
    app.context_processor(page_facts)
    helpers: dict[str, Callable[..., object]] = {
        "form_token": form_token,
        "form_words": forms.words,
        "take_flash": take_flash,
        "takes_focus": takes_focus,
    }
    app.jinja_env.globals.update(helpers)
    app.jinja_env.finalize = _shown
    filters = app.jinja_env.filters
    filters.update(isolate=isolate, verbatim=filters["escape"])


def _shown(value: object) -> object:
    """Every text a template shows keeps its direction to itself; markup, and what is marked as
    `verbatim` because a browser sends or copies it, is left alone.
    """
    is_markup = hasattr(value, "__html__")
    return isolate(value) if isinstance(value, str) and not is_markup else value


def page_facts() -> dict[str, object]:
    """The variables base.html reads beside those of the view."""
    live = session()
    return {
        "viewer": None if live is None else live.human.display_name,
        "theme": "system" if live is None else live.theme,
        "has_zone": live is not None and live.zone is not None,
        "live_paused_at": None if live is None else live.live_paused_at,
        "live": None if live is None else _live_control(live),
        "csrf_token": csrf_token(),
        "here": request.path,
        "views": _views(live),
    }


def _live_control(live: SessionFacts) -> LiveControl:
    return present_live.control(live.live_paused_at, live.zone, request.full_path.rstrip("?"))


def form_token() -> str:
    """The live session's form token; without a session the posted one, or a word in its place,
    so that a form kept over a sign-in is refused once, with a fresh token, and never lost (E12).
    """
    return csrf_token() or request.form.get(FIELD) or _NO_TOKEN


def takes_focus() -> bool:
    """Say whether the answer is a page load, whose `autofocus` a browser honours. It refuses that
    of a part htmx swaps in, with a word in the console: there a script moves the focus.
    """
    return "HX-Request" not in request.headers


def take_flash() -> str | None:
    """What the last act left to be said, once; asked by base.html alone."""
    live = session()
    # A page that only loads itself afresh shows no status: the word waits for the next real one.
    if live is None or not live.has_flash or "X-Refresh" in request.headers:
        return None
    return flashes.take(database(), live.token_hash)


def _views(live: SessionFacts | None) -> list[View]:
    """Teams stand among the views once the person is in one (board.md, "Shell")."""
    is_in_team = live is not None and live.is_in_team
    return [
        _view(href, label, request.path)
        for href, label in _VIEWS
        if href != _TEAMS or is_in_team
    ]


def _view(href: str, label: str, path: str) -> View:
    if path == href:
        return View(href=href, label=label, current="page")
    is_below = href != "/" and path.startswith(f"{href}/")
    return View(href=href, label=label, current="true" if is_below else None)
