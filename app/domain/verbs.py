"""Which verbs an endpoint may be granted, by family, and which every endpoint gets by default."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import InvalidArgument

DRAIN = (
    "list_todos",
    "get_todo",
    "claim",
    "claim_next",
    "complete",
    "fail",
    "release",
    "heartbeat",
)
WEBHOOK = ("create_webhook", "list_webhooks", "rotate_webhook", "delete_webhook")
LEASE = ("get_default_lease", "set_default_lease")
NOTIFY = ("create_notify_hook", "list_notify_hooks", "rotate_notify_hook", "delete_notify_hook")
# In no default, preset or basics grant: with these an agent changes its own budget (REQ-10).
ADMISSION = ("set_admission_policy", "clear_admission_policy")

FAMILIES: dict[str, tuple[str, ...]] = {
    "drain": DRAIN,
    "webhook": WEBHOOK,
    "lease": LEASE,
    "notify": NOTIFY,
    "admission": ADMISSION,
}
BASICS: tuple[str, ...] = DRAIN + WEBHOOK + LEASE
GRANTABLE: tuple[str, ...] = BASICS + NOTIFY + ADMISSION
"""Every verb a grant may name; `whoami` and those of presence are never granted and never withheld
(agent-api.md)."""


def check_verbs(verbs: Sequence[str], field: str = "verbs") -> tuple[str, ...]:
    """The verbs of a grant as given, or InvalidArgument for an empty list, an unknown verb or a
    duplicate. (contract/operator-api.md, "POST /endpoints")
    """
    if not verbs:
        raise InvalidArgument("Name at least one verb, or leave verbs out.", field=field)
    for verb in verbs:
        if verb not in GRANTABLE:
            known = ", ".join(GRANTABLE)
            raise InvalidArgument(
                f"There is no verb {verb[:64]!r} to grant. There are: {known}.", field=field
            )
    if len(set(verbs)) != len(verbs):
        raise InvalidArgument("A verb is named twice.", field=field)
    return tuple(verbs)
