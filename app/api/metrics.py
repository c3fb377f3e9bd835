"""`GET /metrics`, for Prometheus: it opens with a token of its own and with nothing else."""

from __future__ import annotations

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.edge import exposition
from app.edge.deps import state
from app.edge.identify import identify_scraper

bp = Blueprint("metrics", __name__)
bp.before_request(identify_scraper)


@bp.get("/metrics")
def metrics() -> ResponseReturnValue:
    """Answer one scrape for all processes of this server (contract/metrics.md)."""
    return Response(state().exposition.text(), content_type=exposition.CONTENT_TYPE)
