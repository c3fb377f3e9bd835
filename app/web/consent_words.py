"""The consent page in words: who asks, to act as whom, and what that means."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.domain.callers import Human
from app.domain.isolating import isolate
from app.transactions.oauth import Asked

_AS_PERSON = (
    "It could do everything you can do here: read and work your todos, vend and revoke endpoints,"
    " set budgets, and run your teams with your role in each. That lasts until you disconnect it in"
    " Settings, Connected apps, or until it was not used for 30 days."
)
_AS_ENDPOINT = (
    "It could do what you tick below, on the queues of one endpoint and the team queues that it was"
    " granted. That lasts until you disconnect it in Settings, Connected apps, until it was not"
    " used for 30 days, until the endpoint ends, or until you may no longer set it up."
)
_NO_ENDPOINT = (
    "You have no endpoint that it could work as. Vend one first, then start in the app once more."
)
_HERE = "The app says it runs on this computer."
_THERE = "If you allow it, your browser goes to that address."
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentView:
    """What the page says; `host` is where the redirect URI leads, `vend` the address to vend an
    endpoint at when there is none to choose, else None.
    """

    heading: str
    client: str
    host: str
    place: str
    human: str
    sentences: list[str]
    vend: str | None
    allow: str
    deny: str


def consent_view(asked: Asked, human: Human, *, names_one: bool) -> ConsentView:
    """The words of one request, for the human who decides; `names_one` says that it is for one
    endpoint, not for one to be chosen.
    """
    parts = urlsplit(asked.redirect_uri)
    name = isolate(asked.client_name)
    has_none = asked.kind == "agent" and not asked.endpoints
    return ConsentView(
        heading=f"Let {name} {_as_whom(asked, names_one=names_one)}?",
        client=asked.client_name,
        host=parts.netloc,
        place=_HERE if parts.hostname in _LOOPBACK else _THERE,
        human=human.display_name,
        sentences=_sentences(asked, has_none=has_none),
        vend="/endpoints/vend/agent" if has_none else None,
        allow=f"Allow {name}",
        deny=f"Deny {name}",
    )


def _as_whom(asked: Asked, *, names_one: bool) -> str:
    if asked.kind == "operator":
        return "act as you"
    if names_one:
        return f"work as {isolate(asked.endpoints[0].slug)}"
    return "work as one of your endpoints"


def _sentences(asked: Asked, *, has_none: bool) -> list[str]:
    if has_none:
        return [_NO_ENDPOINT]
    return [_AS_PERSON if asked.kind == "operator" else _AS_ENDPOINT]
