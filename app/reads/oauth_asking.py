"""Which client asks, whether its redirect URI is its own, and what this human could give it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db.database import Connection, many, one
from app.db.statements import load
from app.domain import oauth
from app.domain.callers import Human
from app.domain.errors import InvalidArgument
from app.domain.oauth import AuthorizeRequest, Wanted
from app.domain.references import storable

SQL = load("oauth_asking")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A registered client, as consent needs it."""

    client_id: str
    client_name: str
    redirect_uris: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointChoice:
    """An endpoint the human may hand out: the verbs to list, and those that stand ticked. `team` is
    the slug of the team that owns it, None when the human does.

    `ticked` never holds one of the two admission verbs, whatever was asked for.
    """

    id: UUID
    slug: str
    agent_name: str
    team: str | None
    verbs: tuple[str, ...]
    ticked: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endpoint:
    id: UUID
    slug: str
    agent_name: str
    team: str | None
    scope_verbs: list[str]


def trusted(conn: Connection, request: AuthorizeRequest) -> tuple[Client, str]:
    """The client, and its redirect URI once it equals a registered one in every character.

    Raises InvalidArgument on `client_id` or `redirect_uri`: then nothing may redirect.
    """
    if request.client_id is None or "client_id" in request.repeated:
        raise InvalidArgument("The link does not say which app it is for.", field="client_id")
    found = one(conn, SQL["read_client"], {"client_id": storable(request.client_id)}, Client)
    if found is None:
        raise unknown_client()
    uri = request.redirect_uri
    if uri is None or "redirect_uri" in request.repeated or uri not in found.redirect_uris:
        raise InvalidArgument(
            "The link leads back to an address that the app has not registered.",
            field="redirect_uri",
        )
    return found, uri


def unknown_client() -> InvalidArgument:
    """The refusal of a client that is not registered, or not any more."""
    return InvalidArgument("This server does not know the app.", field="client_id")


def choices(conn: Connection, human: Human, wanted: Wanted) -> tuple[EndpointChoice, ...]:
    """The endpoints the human may choose among; of a named one, that one or nothing."""
    if wanted.resource.kind == "operator":
        return ()
    params = {"human_id": human.id, "slug": wanted.resource.slug}
    rows = many(conn, SQL["read_choices"], params, _Endpoint)
    return tuple(_choice(row, wanted.verbs) for row in rows)


def _choice(row: _Endpoint, asked: tuple[str, ...] | None) -> EndpointChoice:
    verbs = oauth.offered(row.scope_verbs, asked)
    return EndpointChoice(
        id=row.id,
        slug=row.slug,
        agent_name=row.agent_name,
        team=row.team,
        verbs=verbs,
        ticked=oauth.ticked(verbs),
    )
