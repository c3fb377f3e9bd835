"""Every agent verb once; the surfaces only translate (agent-api.md)."""

from __future__ import annotations

from app.api import (
    verbs_admission,
    verbs_drain,
    verbs_notify,
    verbs_presence,
    verbs_self,
    verbs_webhook,
)
from app.api.verb import Verb
from app.domain import callers
from app.domain.callers import Endpoint
from app.domain.errors import NotFound

VERBS: dict[str, Verb] = {
    each.name: each
    for each in (
        *verbs_drain.VERBS,
        *verbs_admission.VERBS,
        *verbs_webhook.VERBS,
        *verbs_notify.VERBS,
        *verbs_self.VERBS,
        *verbs_presence.VERBS,
    )
}


def find(name: str) -> Verb:
    """The verb of that name; raises NotFound."""
    try:
        return VERBS[name]
    except KeyError:
        raise NotFound("There is no such verb.") from None


def granted(endpoint: Endpoint) -> tuple[Verb, ...]:
    """Exactly the verbs the endpoint may call, in the registry's order."""
    return tuple(each for each in VERBS.values() if callers.has_verb(endpoint, each.name))
