"""The security headers of every answer, pages and JSON alike."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from flask import Response, g, request

from app.edge.problems import INGEST_PREFIX, is_json_path

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Ingest answers senders, not browsers: nothing at all may be loaded (ingest.md, "Limits").
INGEST_POLICY = "default-src 'none'"

# Below them stands a token that must not be told to another site.
_LINK_PREFIXES = ("/auth/link/", "/invites/")

# What may stand in a policy as an origin: no blank, quote, comma or semicolon, and no user name.
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?")
# A policy has no spelling for an IPv6 address: of its origin, scheme and port are all it can name.
_IPV6 = re.compile(r"(https?)://\[[0-9A-Fa-f:.]+\](?::([0-9]{1,5}))?")
# After a post a browser follows no redirect to a site that `form-action` does not name.
_FORM_ACTION = "form-action 'self'"


def let_form_lead_to(address: str) -> None:
    """Let the form of this answer end at the origin of an address (RFC 6454), such as a client's
    registered redirect URI; of the consent page alone (identity.md, "Sessions and pages").

    An address whose origin cannot stand in a policy, such as one of a scheme of its own or with a
    character that would end the directive, changes nothing: the browser then stays with us. Of
    `[::1]` any host at that port has to do.
    """
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    if _ORIGIN.fullmatch(origin):
        g.form_origin = origin
    elif numbered := _IPV6.fullmatch(origin):
        port = numbered[2] or {"http": "80", "https": "443"}[numbered[1]]
        g.form_origin = f"{numbered[1]}://*:{port}"


def add_headers(response: Response) -> Response:
    """Put the headers of identity.md, "Sessions and pages", on an answer.

    JSON and pages are not to be stored; a static file says itself how long it keeps.
    """
    headers = response.headers
    is_ingest = request.path.startswith(INGEST_PREFIX)
    headers["Content-Security-Policy"] = INGEST_POLICY if is_ingest else _page_policy()
    headers["X-Frame-Options"] = "DENY"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = _referrer_policy()
    if is_json_path(request.path) or "Cache-Control" not in headers:
        headers["Cache-Control"] = "no-store"
    return response


def _page_policy() -> str:
    origin: str | None = g.get("form_origin")
    if origin is None:
        return CONTENT_SECURITY_POLICY
    return CONTENT_SECURITY_POLICY.replace(_FORM_ACTION, f"{_FORM_ACTION} {origin}")


def _referrer_policy() -> str:
    # `no-referrer` would make the browser post the sign-in form with `Origin: null`.
    if request.path.startswith(_LINK_PREFIXES):
        return "same-origin"
    return "strict-origin-when-cross-origin"
