"""The security headers of every answer, pages and JSON alike."""

from __future__ import annotations

from flask import Response, request

from app.edge.problems import INGEST_PREFIX, is_json_path

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Ingest answers senders, not browsers: nothing at all may be loaded (ingest.md, "Limits").
INGEST_POLICY = "default-src 'none'"

# Below them stands a token that must not be told to another site.
_LINK_PREFIXES = ("/auth/link/", "/invites/")


def add_headers(response: Response) -> Response:
    """Put the headers of identity.md, "Sessions and pages", on an answer.

    JSON and pages are not to be stored; a static file says itself how long it keeps.
    """
    headers = response.headers
    is_ingest = request.path.startswith(INGEST_PREFIX)
    headers["Content-Security-Policy"] = INGEST_POLICY if is_ingest else CONTENT_SECURITY_POLICY
    headers["X-Frame-Options"] = "DENY"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = _referrer_policy()
    if is_json_path(request.path) or "Cache-Control" not in headers:
        headers["Cache-Control"] = "no-store"
    return response


def _referrer_policy() -> str:
    # `no-referrer` would make the browser post the sign-in form with `Origin: null`.
    if request.path.startswith(_LINK_PREFIXES):
        return "same-origin"
    return "strict-origin-when-cross-origin"
