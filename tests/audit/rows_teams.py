"""Teams by API, as `contract/operator-api.md`, "Teams", tells which role may do what."""

from __future__ import annotations

from tests.audit.rows import CONFLICT, HIDDEN, ROLE, Row, row

_API = "/api/v1"
_CEILING = "403 role_ceiling"
_LAST = "409 last_owner"
_ALL = ("200", "200", "200")
_ADMINS = (ROLE, "200", "200")
_OWNERS = (ROLE, ROLE, "200")
_TARGET = {"source_type": "gitea", "target_queue": "team:{team}/{team_queue}"}


def _api(method: str, path: str, *args: object, **kwargs: object) -> Row:
    return row(method, f"{_API}{path}", *args, **kwargs)


def _team(method: str, path: str, *args: object, **kwargs: object) -> Row:
    return _api(method, f"/teams/{{team}}{path}", *args, **kwargs)


ROWS: tuple[Row, ...] = (
    # --- the team itself ---
    _api("GET", "/teams", everyone="200"),
    _api("POST", "/teams", {"slug": "typed-team"}, everyone="201"),
    _team("GET", "", team=_ALL),
    _team("PATCH", "", {"display_name": "typed"}, team=_OWNERS),
    _team("PATCH", "", {"slug": "typed-team"}, team=_OWNERS),
    _team("PATCH", "", {"members_create_webhooks": True}, team=_ADMINS),
    _team("PATCH", "", {"members_create_webhooks": True, "display_name": "typed"}, team=_OWNERS),
    _team("DELETE", "", team=(ROLE, ROLE, CONFLICT)),  # it has active endpoints
    _team("POST", "/leave", {}, team=_ALL),
    _api("POST", "/teams/{lone}/leave", {}, team=("200", "200", _LAST)),
    _team("POST", "/transfer", {"human_id": "{hand}"}, team=_OWNERS),
    # --- people ---
    _team("GET", "/members", team=_ALL),
    _team("PATCH", "/members/{hand}", {"role": "admin"}, team=_ADMINS),
    _team("PATCH", "/members/{hand}", {"role": "owner"}, team=(ROLE, _CEILING, "200")),
    _team("PATCH", "/members/{boss}", {"role": "member"}, team=(ROLE, _CEILING, "200")),
    _api("PATCH", "/teams/{lone}/members/{boss}", {"role": "member"},
         team=(ROLE, _CEILING, _LAST)),
    _team("DELETE", "/members/{hand}", team=_ADMINS),
    _team("DELETE", "/members/{boss}", team=(ROLE, _CEILING, "200")),
    _api("DELETE", "/teams/{lone}/members/{boss}", team=(ROLE, _CEILING, _LAST)),
    _team("GET", "/invites", team=_ADMINS),
    _team("POST", "/invites", {"email": "typed@example.org"}, team=(ROLE, "201", "201")),
    _team("POST", "/invites", {"email": "typed@example.org", "role": "owner"},
          team=(ROLE, _CEILING, "201")),
    _team("DELETE", "/invites/{invite}", team=_ADMINS),
    _api("POST", "/invites/accept", {"token": "nothing"}, everyone=HIDDEN),
    _team("GET", "/group-links", team=_ADMINS),
    _team("POST", "/group-links", {"group": "typed", "role": "member"},
          team=(ROLE, ROLE, "403 group_not_held")),
    _team("DELETE", "/group-links/{group_link}", team=_OWNERS),
    # --- queues and what drains them ---
    _team("GET", "/queues", team=_ALL),
    _team("POST", "/queues", {"name": "typed"}, team=(ROLE, "201", "201")),
    _team("DELETE", "/queues/{idle_queue}", team=_ADMINS),
    _team("DELETE", "/queues/{team_queue}", team=(ROLE, CONFLICT, CONFLICT)),  # it has live todos
    _team("POST", "/queues/{team_queue}/todos", {"title": "typed"}, team=("201", "201", "201")),
    _api("GET", "/endpoints/{endpoint}/team-queues", own="200", team=(HIDDEN, "200", "200")),
    _api("GET", "/endpoints/{hands_endpoint}/team-queues", team=("200", HIDDEN, HIDDEN)),
    *(_api(method, f"/endpoints/{{{whose}}}/team-queues/{{team}}/{{team_queue}}", team=team)
      for method in ("PUT", "DELETE")
      for whose, team in (("endpoint", (HIDDEN, "200", "200")),
                          ("hands_endpoint", ("200", HIDDEN, HIDDEN)))),
    # --- what names a team elsewhere ---
    _api("POST", "/endpoints", {"name": "typed", "team": "{team}"}, team=(ROLE, "201", "201"),
         stranger=HIDDEN),
    _api("POST", "/endpoints/{endpoint}/webhooks", _TARGET, team=(HIDDEN, "201", "201")),
    _api("POST", "/endpoints/{hands_endpoint}/webhooks", _TARGET, team=(ROLE, HIDDEN, HIDDEN)),
    _api("GET", "/todos?team={team}", team=_ALL, stranger="200"),
)
