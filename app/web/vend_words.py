"""What verbs, families, sources and lifetimes are called on a page."""

from __future__ import annotations

from wtforms import SelectChoice

from app.domain.isolating import isolate
from app.domain.lifetimes import PRESETS
from app.domain.signatures import TRUST, Source, TrustMode

LIMITS_LEGEND = "Grants that change limits"
LIMITS_WARNING = (
    "These two let the agent change its own budget: it could raise or remove the limits you set. "
    "When a team owns the endpoint, this covers the team's queues that it drains too. "
    "The two are never chosen for you, and each visit to this page asks again."
)

_FAMILIES = {
    "drain": "Work on todos",
    "webhook": "Manage its webhooks",
    "lease": "Default lease",
    "notify": "Be called when work is ready",
}
_VERBS = {
    "list_todos": "see the todos of its queues",
    "get_todo": "read one todo with its payload",
    "claim": "claim a todo it names",
    "claim_next": "claim the oldest pending todo",
    "complete": "mark a claimed todo done",
    "fail": "mark a claimed todo failed",
    "release": "give a claimed todo back",
    "heartbeat": "extend the lease of a claimed todo",
    "create_webhook": "make a webhook within its ceiling",
    "list_webhooks": "see its webhooks and their URLs",
    "rotate_webhook": "replace a webhook's URL and secret",
    "delete_webhook": "delete a webhook",
    "get_default_lease": "read its default lease",
    "set_default_lease": "change its default lease",
    "create_notify_hook": "register a URL that is called when work is ready",
    "list_notify_hooks": "see its notify hooks and their health",
    "rotate_notify_hook": "replace a notify hook's secret and enable it again",
    "delete_notify_hook": "delete a notify hook",
    "set_admission_policy": "create or change the budget of its queues",
    "clear_admission_policy": "remove the budget of its queues",
}
_SOURCES = {
    Source.GENERIC: "anything that can post",
    Source.GITHUB: "GitHub",
    Source.GITEA: "Gitea or Forgejo",
    Source.STRIPE: "Stripe",
    Source.SLACK: "Slack",
}
_PROOFS = {
    TrustMode.SIGNED: "each delivery is signed with a secret",
    TrustMode.TOKEN: "knowing the URL is the only proof",
}
_LIFETIMES = dict(zip(PRESETS, ("1 hour", "24 hours", "7 days", "30 days"), strict=True))


def verb(name: str) -> str:
    """A verb with what it does, such as `claim_next: claim the oldest pending todo`."""
    return f"{name}: {_VERBS[name]}" if name in _VERBS else name


def family(name: str) -> str:
    """What a family of verbs is for; its own name when nobody has said it better."""
    return _FAMILIES.get(name, name.replace("_", " ").capitalize())


def source(of: Source) -> str:
    """A source type with what makes its deliveries believable."""
    return f"{of} ({_SOURCES[of]}; {proof(of)})"


def sources() -> list[SelectChoice]:
    """Every source type to choose from, the API's default first."""
    kinds = sorted(Source, key=lambda kind: kind is not Source.GENERIC)
    return [SelectChoice(value=str(kind), label=source(kind)) for kind in kinds]


def proof(of: Source) -> str:
    """What makes a delivery of this type believable, in words."""
    return _PROOFS[TRUST[of]]


def lifetime(text: str) -> str:
    """A preset in words; any other lifetime as it is written."""
    return _LIFETIMES.get(text, text)


def owner(team: str) -> str:
    """A team as the owner of an endpoint."""
    return f"Team {isolate(team)}"
