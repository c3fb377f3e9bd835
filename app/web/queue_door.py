"""The blueprint of everything under /queues, one file per page."""

from __future__ import annotations

from flask import Blueprint

from app.edge.identify import identify_session
from app.web import guard

bp = Blueprint("queues", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)
