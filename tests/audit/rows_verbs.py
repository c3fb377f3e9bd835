"""The agent verbs, as `contract/agent-api.md` and `identity.md` tell what an endpoint may name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.audit.rows import HIDDEN

FORBIDDEN = "403 forbidden"
INVALID = "400 invalid_argument"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbRow:
    """A call of one verb with `arguments`, whose `{names}` are things of the calling endpoint.

    `own` is the answer to an endpoint of a person's, `team` to one that the team owns, `guest` to
    a member's own endpoint that was granted the team's queue. Who lacks the verb is answered
    `without`. With somebody else's things in the names it is `foreign`, as for unknown things.
    """

    verb: str
    arguments: Mapping[str, object]
    own: str = "200"
    team: str = "200"
    guest: str = "200"
    without: str = FORBIDDEN
    foreign: str | None = None


def verb(name: str, arguments: Mapping[str, object] | None = None, **more: str) -> VerbRow:
    """A row; without arguments it names nothing."""
    return VerbRow(verb=name, arguments=arguments or {}, **more)


_POLICY = {"queue": "{queue}", "policy": {"max_in_flight": 9}}
_URL = "https://93.184.216.34/typed"  # an address, so that no name is looked up

ROWS: tuple[VerbRow, ...] = (
    # --- drain: `queue` is a bare name of one's own, or a team's, hidden unless granted ---
    verb("list_todos"),
    verb("list_todos", {"queue": "{queue}"}, foreign=HIDDEN),
    verb("get_todo", {"id": "{todo}"}, foreign=HIDDEN),
    verb("claim", {"id": "{todo}"}, foreign=HIDDEN),
    verb("claim_next"),
    verb("claim_next", {"queue": "{queue}"}, foreign=HIDDEN),
    verb("heartbeat", {"id": "{held}"}, foreign=HIDDEN),
    verb("complete", {"id": "{held}"}, foreign=HIDDEN),
    verb("fail", {"id": "{held}"}, foreign=HIDDEN),
    verb("release", {"id": "{held}"}, foreign=HIDDEN),
    verb("admission_status"),
    verb("admission_status", {"queue": "{queue}"}, foreign=HIDDEN),
    # --- one's own budget; a team's only by an endpoint that the team owns ---
    verb("set_admission_policy", _POLICY, guest=HIDDEN, foreign=HIDDEN),
    verb("clear_admission_policy", {"queue": "{queue}"}, guest=HIDDEN, foreign=HIDDEN),
    # --- webhooks and hooks: a team's queue is no target of an agent's ---
    verb("create_webhook", {"source_type": "gitea", "target_queue": "inbox"}),
    verb("create_webhook", {"source_type": "gitea", "target_queue": "{team_queue}"},
         own=INVALID, team=INVALID, guest=INVALID),
    verb("list_webhooks"),
    verb("rotate_webhook", {"webhook_id": "{webhook}"}, foreign=HIDDEN),
    verb("delete_webhook", {"webhook_id": "{webhook}"}, foreign=HIDDEN),
    verb("create_notify_hook", {"url": _URL}),
    verb("list_notify_hooks"),
    verb("rotate_notify_hook", {"hook_id": "{hook}"}, foreign=HIDDEN),
    verb("delete_notify_hook", {"hook_id": "{hook}"}, foreign=HIDDEN),
    # --- oneself: never granted, never withheld ---
    verb("whoami", without="200"),
    verb("clock_in", without="200"),
    verb("clock_out", without="200"),
    verb("presence", without="200"),
    verb("get_default_lease"),
    verb("set_default_lease", {"default_lease_ttl_seconds": 90}),
)
