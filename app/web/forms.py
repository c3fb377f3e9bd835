"""The base of every form: Flask-WTF's, guarded by our own session's token."""

from __future__ import annotations

from flask_wtf import FlaskForm

from app.edge.csrf import FIELD, SessionCsrf


class Form(FlaskForm):
    """A form whose hidden `csrf_token` comes from the live session; there is no SECRET_KEY."""

    class Meta(FlaskForm.Meta):
        """Where WTForms looks for the token: in `app/edge/csrf.py`, not in Flask's session."""

        csrf = True
        csrf_class = SessionCsrf
        csrf_field_name = FIELD
        csrf_context = None
        csrf_secret = None
