"""Signing in through an OpenID Connect provider, when one is configured."""

from __future__ import annotations

from flask import Blueprint

from app.edge.identify import identify_session

bp = Blueprint("oidc", __name__)
bp.before_request(identify_session)
