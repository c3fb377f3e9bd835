"""`/healthz` and `/readyz`, for load balancers: no credential, and no word about the host."""

from __future__ import annotations

from flask import Blueprint
from flask.typing import ResponseReturnValue

from app.edge.deps import database
from app.reads import readiness

bp = Blueprint("health", __name__)


@bp.get("/healthz")
def healthz() -> ResponseReturnValue:
    """Answer 200 while the process lives; it asks nothing of anybody."""
    return {"status": "ok"}


@bp.get("/readyz")
def readyz() -> ResponseReturnValue:
    """Answer 200 when the database is there and current; else the refusal is 503 `unavailable`."""
    readiness.require_ready(database())
    return {"status": "ready"}
