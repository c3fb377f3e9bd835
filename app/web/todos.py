"""Todos: the list with its filters, one todo's page, and what may be done to it."""

from __future__ import annotations

from flask import Blueprint

from app.edge.identify import identify_session
from app.web import guard

bp = Blueprint("todos", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)
