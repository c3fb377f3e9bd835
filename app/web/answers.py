"""How a page's view answers: a redirect with a word, a form with its faults, a fragment."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from flask import Response, make_response, redirect, render_template, request

from app.domain.errors import Unauthenticated
from app.edge.deps import database, session
from app.reads.identity import SessionFacts
from app.transactions import flashes
from app.web.forms import Form


def viewer() -> SessionFacts:
    """The live session of the person who asks: human, zone, theme, announce, live_paused_at.

    Raises Unauthenticated; a GET is then sent to sign in (302, app/web/problems.py).
    """
    live = session()
    if live is None:
        raise Unauthenticated
    return live


def wants_fragment() -> bool:
    """Say whether htmx asks for a part of a page. On Back it asks for the whole page again."""
    headers = request.headers
    return headers.get("HX-Request") == "true" and "HX-History-Restore-Request" not in headers


def see(path: str, *, flash: str | None = None, fragment: str | None = None) -> Response:
    """Send the browser on after a post: 303 to a path of ours, at the id `fragment`, so that the
    focus lands on what was acted on, with or without JavaScript.

    `flash` is said once by the next page, as text. htmx follows a 303 by itself and would swap
    the whole page into its target; it is told to go there instead.
    """
    if flash is not None:
        flashes.keep(database(), viewer().token_hash, flash)
    target = path if fragment is None else f"{path}#{quote(fragment)}"
    if request.headers.get("HX-Request") != "true":
        return make_response(redirect(target, code=303))
    response = make_response("", 200)
    response.headers["HX-Redirect"] = target
    if _is_shown(path):
        # Only the fragment differs: without this the browser would jump and load nothing.
        response.headers["HX-Refresh"] = "true"
    return response


def form_page(template: str, form: Form, *, status: int = 200, **context: object) -> Response:
    """A page with a form. A refused form (422, 409) has the status, an "Error:" title, and its
    summary takes the focus (accessibility.md 4.3); its values are kept.
    """
    body = render_template(template, form=form, errors=status >= 400, **context)
    return make_response(body, status)


def _is_shown(path: str) -> bool:
    shown, target = urlsplit(request.headers.get("HX-Current-URL", "")), urlsplit(path)
    return (shown.path, shown.query) == (target.path, target.query)
