"""Consent: a client asks, a human is shown what for, and answers with a code or a refusal.

Who may allow: for an operator grant the human for themselves; for an agent grant a human who may
configure the endpoint (its owner, or an admin or owner of its team). Asked when the page is made,
and once more in the statement that inserts the code. A slug in `resource` that is foreign, unknown
or revoked is one answer, `invalid_target`. Until the redirect URI is known to be the client's,
every fault is a page of ours and nothing redirects (RFC 6749 4.1.2.1, RFC 9700 4.11).
Source: identity.md, "OAuth server".
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db import journal, minting
from app.db.database import Connection, Database, one, run, value
from app.db.statements import load
from app.domain import oauth
from app.domain.callers import Human
from app.domain.errors import Conflict, InvalidArgument
from app.domain.oauth import AuthorizeRequest, Fault, Kind
from app.domain.references import parse_uuid
from app.domain.tokens import CODE_PREFIX, hash_token
from app.reads import oauth_asking
from app.reads.oauth_asking import EndpointChoice as EndpointChoice

SQL = load("oauth")

CODE_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the consent page says. `redirect_uri` is the registered one, `verbs` what the client
    asked for by name (empty when it named none); an operator grant has no `endpoints`.
    """

    client_name: str
    redirect_uri: str
    kind: Kind
    endpoints: tuple[EndpointChoice, ...]
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBack:
    """A fault the client is to hear of: answer 303 to `url`, which is its registered one."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grant:
    grant_id: UUID


def trust(db: Database, request: AuthorizeRequest) -> str:
    """The client's registered redirect URI that the request names in every character.

    Raises InvalidArgument on `client_id` or `redirect_uri`: then nothing may redirect.
    """
    with db.reading() as conn:
        return oauth_asking.trusted(conn, request)[1]


def begin(db: Database, human: Human, request: AuthorizeRequest) -> Asked | SentBack:
    """What to show this human; changes nothing.

    Raises InvalidArgument on `client_id` or `redirect_uri` while the redirect URI is not trusted
    (a page, 400), Unavailable. Any later fault is SentBack.
    """
    with db.reading() as conn:
        client, uri = oauth_asking.trusted(conn, request)
        wanted = oauth.judge(request)
        if isinstance(wanted, Fault):
            return SentBack(url=_refused(uri, request, wanted))
        choices = oauth_asking.choices(conn, human, wanted)
    if wanted.resource.slug is not None and not choices:
        return SentBack(url=_refused(uri, request, _NO_ENDPOINT))
    return Asked(
        client_name=client.client_name,
        redirect_uri=uri,
        kind=wanted.resource.kind,
        endpoints=choices,
        verbs=wanted.verbs or (),
    )


def allow(
    db: Database,
    human: Human,
    request: AuthorizeRequest,
    *,
    endpoint_id: str | None = None,
    verbs: tuple[str, ...] = (),
    once: str | None = None,
) -> str:
    """The human said yes: the redirect URL with `code`, `state` and `iss`, valid 60 s and once.

    For an agent grant `endpoint_id` and `verbs` are what was chosen and ticked; an operator grant
    takes neither. `once` names the form: sent twice, it makes one code and both answers carry it,
    until the app has used it; then, or with other answers, Conflict. Raises InvalidArgument on
    `endpoint` (none chosen; foreign, unknown and revoked are one) or `verbs` (none ticked, or one
    that was not listed), so that the page can ask again; otherwise as `begin`, a later fault being
    an URL with `error`.
    """
    code = minting.oauth_code()
    if once:
        code = CODE_PREFIX + db.sealer.once_token(human.id, f"oauth {once}")
    with db.transaction() as conn:
        client, uri = oauth_asking.trusted(conn, request)
        wanted = oauth.judge(request)
        if isinstance(wanted, Fault):
            return _refused(uri, request, wanted)
        chosen: dict[str, object] = {"endpoint_id": None, "verbs": None}
        if wanted.resource.kind == "agent":
            chosen = _chosen(oauth_asking.choices(conn, human, wanted), endpoint_id, verbs)
        _keep(conn, client.client_id)
        grant_id = _insert_code(conn, code, {
            "client_id": client.client_id,
            "human_id": human.id,
            "redirect_uri": uri,
            "code_challenge": wanted.code_challenge,
            "resource": wanted.resource.url,
            **chosen,
        })  # fmt: skip
    journal.note("oauth_allowed", client=client.client_id, grant=grant_id)
    said = {"code": code, "state": request.state, "iss": request.base_url}
    return oauth.with_answer(uri, said)


def deny(db: Database, human: Human, request: AuthorizeRequest) -> str:
    """The human said no: the redirect URL with `access_denied`; raises as `trust`.

    Nothing about the human is told, so it is the same for whoever is asked.
    """
    with db.reading() as conn:
        client, uri = oauth_asking.trusted(conn, request)
    journal.note("oauth_denied", client=client.client_id, human=human.id)
    return _refused(uri, request, _DENIED)


_DENIED = Fault(error="access_denied", description="The person who was asked said no.")
_NO_ENDPOINT = Fault(
    error="invalid_target", description="There is no such endpoint that this person may grant."
)


def _chosen(
    choices: tuple[EndpointChoice, ...], endpoint_id: str | None, verbs: tuple[str, ...]
) -> dict[str, object]:
    """What the code is bound to, as parameters."""
    wanted = parse_uuid(endpoint_id or "")
    found = next((each for each in choices if each.id == wanted), None)
    if found is None:
        raise _no_endpoint()
    if not verbs:
        raise InvalidArgument("Tick at least one thing the agent may do.", field="verbs")
    if not set(verbs) <= set(found.verbs):
        raise InvalidArgument("Tick only what this page lists for the endpoint.", field="verbs")
    given = [verb for verb in found.verbs if verb in verbs]
    return {"endpoint_id": found.id, "verbs": given}


def _keep(conn: Connection, client_id: str) -> None:
    """Hold the client, so that no sweep takes it away before its code is there."""
    if run(conn, SQL["mark_client_used"], {"client_id": client_id}) == 0:
        raise oauth_asking.unknown_client()


def _insert_code(conn: Connection, code: str, bound: dict[str, object]) -> UUID:
    kind = "operator" if bound["endpoint_id"] is None else "agent"
    params = {
        "code_hash": hash_token(code),
        "grant_id": minting.new_id(),
        "seconds": CODE_SECONDS,
        **bound,
    }
    made = one(conn, SQL[f"insert_{kind}_code"], params, _Grant)
    if made is None:
        if value(conn, SQL["read_code"], params) is not None:
            raise Conflict("You have answered this app already.")
        raise _no_endpoint()
    return made.grant_id


def _no_endpoint() -> InvalidArgument:
    return InvalidArgument("Choose one of your endpoints.", field="endpoint")


def _refused(uri: str, request: AuthorizeRequest, fault: Fault) -> str:
    """The redirect URL of a refusal; a state that came twice is nobody's and stays out."""
    state = None if "state" in request.repeated else request.state
    said = {"error": fault.error, "error_description": fault.description}
    return oauth.with_answer(uri, {**said, "state": state, "iss": request.base_url})
