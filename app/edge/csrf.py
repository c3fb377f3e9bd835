"""Proof that a form came from our own page: a token made from the session, checked twice."""

from __future__ import annotations

import hashlib
import hmac

from flask import request
from flask_wtf import FlaskForm
from wtforms import ValidationError
from wtforms.csrf.core import CSRF, CSRFTokenField

from app.edge.deps import session
from app.edge.identify import session_token

FIELD = "csrf_token"
HEADERS = ("X-CSRF-Token", "X-CSRFToken")

_LABEL = b"switchboard csrf 1:"


def csrf_token() -> str:
    """The token of the live session: SHA-256 of a fixed label and the session's token; empty
    without a session, and then no form has anything to protect (identity.md).
    """
    token = session_token()
    if session() is None or token is None:
        return ""
    return hashlib.sha256(_LABEL + token.encode("utf-8", "surrogatepass")).hexdigest()


def is_csrf_valid() -> bool:
    """Say whether a state-changing request carries the session's token, in a header or the form."""
    posted = next((request.headers[name] for name in HEADERS if name in request.headers), None)
    if posted is None:
        posted = request.form.get(FIELD, "")
    return _is_equal(posted, csrf_token())


class SessionCsrf(CSRF):
    """The same check inside a form, so that a form used outside a request guard is safe too."""

    def generate_csrf_token(self, csrf_token_field: CSRFTokenField) -> str:
        """The value rendered into the hidden field."""
        return csrf_token()

    def validate_csrf_token(self, form: FlaskForm, field: CSRFTokenField) -> None:
        """Refuse a form that carries neither the field nor a header."""
        if not is_csrf_valid():
            raise ValidationError("The form is out of date; send it again.")


def _is_equal(posted: str, expected: str) -> bool:
    if not expected:
        return False
    return hmac.compare_digest(posted.encode("utf-8", "replace"), expected.encode())
