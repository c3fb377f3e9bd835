"""Help: what a claim costs, what 0 means, what resets when, and how accessible this is."""

from __future__ import annotations

from flask import Blueprint

from app.edge.identify import identify_session

bp = Blueprint("help", __name__)
bp.before_request(identify_session)
