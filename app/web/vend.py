"""The vend wizard: one page per step, over a draft kept in the database."""

from __future__ import annotations

from flask import Blueprint

from app.edge.identify import identify_session
from app.web import guard

bp = Blueprint("vend", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)
