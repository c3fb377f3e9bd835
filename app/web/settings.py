"""What a person sets for themselves: zone, theme, announcements, tokens, other devices."""

from __future__ import annotations

from flask import Blueprint

from app.edge.identify import identify_session
from app.web import guard

bp = Blueprint("settings", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)
