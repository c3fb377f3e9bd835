"""Signing in and out: the one-time link, the page that says how, and the development sign-in."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from flask import Blueprint, Response, make_response, redirect, render_template, request
from flask.typing import ResponseReturnValue

from app.domain.errors import NotFound
from app.edge.deps import database, session, state
from app.edge.identify import cookie_name, identify_session, session_token
from app.reads import identity
from app.transactions import dev_login, people, preferences
from app.web import come_back, guard

# As long as a session can last at all; the database ends it sooner.
_COOKIE_SECONDS = 30 * 24 * 60 * 60
_GONE = (
    "This sign-in link has been used, has expired, or was never valid. A link works once, "
    "within 15 minutes."
)

log = logging.getLogger(__name__)

bp = Blueprint("account", __name__)
bp.before_request(guard.limit_sign_in)
bp.before_request(identify_session)


@bp.get("/login")
def show_login() -> ResponseReturnValue:
    """Say in words how to get in; there are no passwords."""
    if session() is not None:
        return redirect("/", code=302)
    config = state().config
    return render_template(
        "login.html",
        heading="Sign in",
        provider=None if config.oidc is None else urlsplit(config.oidc.issuer).hostname,
        has_dev_login=config.dev_login,
    )


@bp.get("/auth/link/<token>")
def show_link(token: str) -> ResponseReturnValue:
    """One button. Changes nothing: a link previewer must not burn the link (identity.md)."""
    if not identity.is_link_live(database(), token):
        return _gone()
    return render_template("link.html", heading="Sign in to Switchboard", action=request.path)


@bp.post("/auth/link/<token>")
def use_link(token: str) -> ResponseReturnValue:
    """Use the link up and start a session; the second post of one link finds it gone (410)."""
    guard.refuse_foreign_form()
    started = people.consume_login_link(database(), token)
    return _gone() if started is None else signed_in(started)


@bp.post("/auth/dev-login")
def use_dev_login() -> ResponseReturnValue:
    """Sign in as the one development human; unknown (404) unless a setting turned it on."""
    if not state().config.dev_login:
        raise NotFound
    guard.refuse_foreign_form()
    log.warning("dev_login_used: anyone who reaches this server can sign in")
    return signed_in(dev_login.sign_in(database()))


@bp.post("/logout")
def sign_out() -> ResponseReturnValue:
    """End the session in the database, then forget the cookie."""
    refused = guard.check_form()
    if refused is not None:
        return refused
    people.end_session(database(), session_token() or "")
    response = make_response(redirect("/", code=303))
    return _with_cookie(response, "", max_age=0)


def _gone() -> Response:
    body = render_template("gone.html", heading="Sign-in link no longer valid", sentence=_GONE)
    return make_response(body, 410)


def signed_in(token: str) -> Response:
    """Hand a fresh session to the browser and send it where it was going, or to the board (303).

    The form may bring the browser's zone; it is taken when the person has none (board.md).
    """
    preferences.offer_zone(database(), token, request.form.get("zone", ""))
    response = make_response(redirect(come_back.target(), code=303))
    return _with_cookie(come_back.forget(response), token, max_age=_COOKIE_SECONDS)


def _with_cookie(response: Response, token: str, *, max_age: int) -> Response:
    config = state().config
    response.set_cookie(
        cookie_name(config),
        token,
        max_age=max_age,
        path="/",
        secure=config.is_https,
        httponly=True,
        samesite="Lax",
    )
    return response
