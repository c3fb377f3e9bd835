"""Every door that is no page and not the operator API: probes, metrics, ingest, agents' doors."""

from __future__ import annotations

from tests.audit.rows import DOOR, HIDDEN, Body, Row, row

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_APP = {"client_name": "typed", "redirect_uris": ["http://127.0.0.1/callback"]}
_WRONG = "405 invalid_argument"


def _open(method: str, path: str, answer: str, body: Body | None = None) -> Row:
    return row(method, path, body, everyone=answer, nobody=answer, agent=answer)


ROWS: tuple[Row, ...] = (
    _open("GET", "/healthz", "200"),
    _open("GET", "/readyz", "200"),
    _open("GET", "/static/{file}", "200"),
    # Only the scraper's own token opens it.
    row("GET", "/metrics", everyone=DOOR),
    # The address is the capability: whoever knows it may send, whatever else they hold.
    # This one wants a signature.
    _open("POST", "/webhooks/w/{ingest}", DOOR, {"typed": 1}),
    _open("POST", "/webhooks/w/{nothing}", HIDDEN, {"typed": 1}),
    # --- OAuth: what an app must know is for everyone; a token is had for a code only ---
    _open("GET", "/.well-known/oauth-authorization-server", "200"),
    *(_open("GET", f"/.well-known/oauth-protected-resource/{resource}", "200")
      for resource in ("api", "agent/v1", "mcp/anything")),
    _open("POST", "/oauth/register", "201", _APP),
    _open("POST", "/oauth/token", "400 invalid_request", {}),
    _open("POST", "/oauth/revoke", "400 invalid_request", {}),
    *(row(method, f"/agent/v1{end}", {} if method != "GET" else None, everyone=DOOR, agent=HIDDEN)
      for end in ("", "/") for method in _METHODS),
    # No human's token opens an agent's door; `test_verbs.py` walks what an agent may do in it.
    *(row(method, f"/agent/v1/{verb}", {} if method != "GET" else None, everyone=DOOR,
          agent="200" if (method, verb) in (("GET", "verbs"), ("GET", "whoami"),
                                            ("POST", "whoami"), ("GET", "stream")) else _WRONG)
      for verb in ("verbs", "whoami", "stream") for method in _METHODS),
)
