"""Webhooks and their routes: list, create, rotate, delete; secrets are shown once."""

from __future__ import annotations

from flask import Blueprint

from app.edge.identify import identify_session
from app.web import guard

bp = Blueprint("webhooks", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)
