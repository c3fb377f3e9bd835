"""`GET /metrics`, for Prometheus: it opens with a token of its own and with nothing else."""

from __future__ import annotations

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from app.edge import exposition
from app.edge.deps import state
from app.edge.identify import identify_scraper

PATH = "/metrics"
bp = Blueprint("metrics", __name__)
bp.before_request(identify_scraper)


@bp.before_app_request
def identify_before_the_method() -> None:
    """Ask for the token first where the method is wrong, too: no route has been found then."""
    if request.path == PATH and request.routing_exception is not None:
        identify_scraper()


@bp.get(PATH)
def metrics() -> ResponseReturnValue:
    """Answer one scrape for all processes of this server (contract/metrics.md)."""
    return Response(state().exposition.text(), content_type=exposition.CONTENT_TYPE)
