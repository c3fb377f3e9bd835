"""The operator API, as `contract/operator-api.md` and `identity.md` tell who may ask what."""

from __future__ import annotations

from tests.audit.rows import CONFLICT, HIDDEN, ROLE, Row, row

_API = "/api/v1"
_ALL = ("200", "200", "200")
_SETS_UP = (HIDDEN, "200", "200")  # what a plain member may not configure does not exist for them
_TOO_LATE = (HIDDEN, CONFLICT, CONFLICT)
_BUDGET = {"max_in_flight": 7}
_HOOK = {"source_type": "gitea", "target_queue": "inbox"}
_VENDS = {"name": "typed"}


def _api(method: str, path: str, *args: object, **kwargs: object) -> Row:
    return row(method, f"{_API}{path}", *args, **kwargs)


ROWS: tuple[Row, ...] = (
    # --- one's own, whoever one is ---
    _api("GET", "/me", everyone="200"),
    _api("DELETE", "/token", everyone="200"),
    _api("GET", "/endpoints", everyone="200"),
    _api("POST", "/endpoints", _VENDS, everyone="201"),
    _api("GET", "/agents", everyone="200"),
    _api("GET", "/webhooks", everyone="200"),
    _api("GET", "/events", everyone="200"),
    _api("GET", "/todos", everyone="200"),
    _api("GET", "/admission", everyone="200"),
    # --- endpoints ---
    _api("PATCH", "/endpoints/{endpoint}", {"default_lease_ttl_seconds": 90},
         own="200", team=_SETS_UP),
    _api("POST", "/endpoints/{endpoint}/revoke", {}, own="200", team=_SETS_UP),
    _api("POST", "/endpoints/{revoked}/revoke", {}, own=CONFLICT, team=_TOO_LATE),
    _api("DELETE", "/endpoints/{revoked}", own="200", team=_SETS_UP),
    _api("DELETE", "/endpoints/{endpoint}", own=CONFLICT, team=_TOO_LATE),
    _api("GET", "/endpoints/{endpoint}/presence", own="200", team=_SETS_UP),
    _api("PUT", "/endpoints/{endpoint}/presence", {"presence": "out"}, own="200", team=_SETS_UP),
    _api("DELETE", "/endpoints/{endpoint}/presence", own="200", team=_SETS_UP),
    _api("PUT", "/endpoints/{endpoint}/shift", {"shift": "Mon-Fri 09:00-17:00"},
         own="200", team=_SETS_UP),
    _api("POST", "/endpoints/{endpoint}/todos", {"title": "typed"},
         own="201", team=(HIDDEN, "201", "201")),
    # --- webhooks ---
    _api("GET", "/endpoints/{endpoint}/webhooks", own="200", team=_SETS_UP),
    _api("POST", "/endpoints/{endpoint}/webhooks", _HOOK, own="201", team=(HIDDEN, "201", "201")),
    _api("POST", "/webhooks/{webhook}/rotate", {}, own="200", team=_SETS_UP),
    _api("DELETE", "/webhooks/{webhook}", own="200", team=_SETS_UP),
    _api("GET", "/webhooks/{webhook}/routes", own="200", team=_SETS_UP),
    _api("POST", "/webhooks/{webhook}/routes", {"endpoint": "{second}"}, own="200", team=_SETS_UP),
    _api("DELETE", "/webhooks/{webhook}/routes/{target}", own="200", team=_SETS_UP),
    # --- events and todos ---
    _api("GET", "/events/{event}", own="200", team=_ALL),
    _api("GET", "/todos/{todo}", own="200", team=_ALL),
    _api("POST", "/todos/{dead}/retry", {}, own="200", team=_ALL),
    _api("POST", "/todos/{parked}/discard", {}, own="200", team=(ROLE, "200", "200")),
    _api("POST", "/todos/{mine}/release", {}, own="200", team=(CONFLICT, CONFLICT, "200")),
    _api("POST", "/todos/{mine}/complete", {}, own="200", team=(CONFLICT, CONFLICT, "200")),
    _api("POST", "/todos/{mine}/fail", {}, own="200", team=(CONFLICT, CONFLICT, "200")),
    # --- budgets: a plain member sees usage on the board, and no more ---
    _api("GET", "/admission/{scope}/{queue_name}", own="200", team=_SETS_UP),
    _api("PUT", "/admission/{scope}/{queue_name}", _BUDGET, own="200", team=_SETS_UP),
    _api("DELETE", "/admission/{scope}/{queue_name}", own="200", team=_SETS_UP),
)
