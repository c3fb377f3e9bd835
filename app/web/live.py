"""Live updates: the stream of events, and pausing it."""

from __future__ import annotations

from flask import Blueprint

from app.edge.identify import identify_session
from app.web import guard

bp = Blueprint("live", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)
