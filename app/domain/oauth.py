"""What an OAuth client may ask a human for: resources, scopes and PKCE; all pure.

Decisions, each once:

- **`resource`** (RFC 8707) is required and names the grant: `<base>/api` is an operator grant,
  `<base>/mcp/<slug>` an agent grant of that endpoint, `<base>/agent/v1` an agent grant of an
  endpoint the human chooses. Scheme and host may be spelled in capitals, the path may not.
- **Scope** names are the verbs, and `operator`. Names we do not know are ignored, as RFC 6749 3.3
  allows (clients add `offline_access` and `openid` unasked); when only such names are left it is
  `invalid_scope`. What was not asked for is not offered, but for the two verbs that change
  limits, which every consent screen lists (REQ-10); what was asked for is not yet granted.
- **PKCE** is required, S256 only.

Source: identity.md, "OAuth server"; RFC 6749, 7636, 8707, 9207.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlencode, urlsplit

from app.domain.verbs import ADMISSION, GRANTABLE

Kind: TypeAlias = Literal["agent", "operator"]

OPERATOR_SCOPE = "operator"
SCOPES = (*GRANTABLE, OPERATOR_SCOPE)
"""Every scope there is: `scopes_supported` of the authorization server."""

LONGEST_STATE = 2048
LONGEST_TEXT = 4096

PARAMETERS = (
    "response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge",
    "code_challenge_method", "resource",
)  # fmt: skip

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # a SHA-256 in base64url, nothing longer
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_SLUG = 64
_PORTS = {"https": ":443", "http": ":80"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizeRequest:
    """The parameters of `/oauth/authorize` as they came; None for one that did not, or was blank.

    `repeated` names those that came more than once, which is a fault by itself (RFC 6749 3.1).
    `base_url` is SWITCHBOARD_BASE_URL, never what the request says our name is.
    """

    base_url: str
    response_type: str | None = None
    client_id: str | None = None
    redirect_uri: str | None = None
    scope: str | None = None
    state: str | None = None
    code_challenge: str | None = None
    code_challenge_method: str | None = None
    resource: str | None = None
    repeated: tuple[str, ...] = ()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The parameters that came, once each, to send along in a form or a link back here."""
        given = {
            "response_type": self.response_type,
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self.scope,
            "state": self.state,
            "code_challenge": self.code_challenge,
            "code_challenge_method": self.code_challenge_method,
            "resource": self.resource,
        }
        return tuple((name, text) for name, text in given.items() if text is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A refusal in OAuth's own words: `error` is a code of its registry."""

    error: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What a grant opens. `slug` is set when the client named the endpoint by its address."""

    url: str
    kind: Kind
    slug: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A request that may be shown to a human: `verbs` asked for, None when no scope was named."""

    resource: Resource
    code_challenge: str
    verbs: tuple[str, ...] | None


def read_request(pairs: Iterable[tuple[str, str]], base_url: str) -> AuthorizeRequest:
    """The request in a query or a form; other parameters are ignored, blank ones are absent.

    Of one that came twice the first is kept, and `repeated` says so.
    """
    given: dict[str, str] = {}
    repeated: dict[str, None] = {}
    for name, text in pairs:
        if name not in PARAMETERS:
            continue
        if name in given:
            repeated[name] = None
        given.setdefault(name, text)
    return AuthorizeRequest(
        base_url=base_url,
        response_type=given.get("response_type") or None,
        client_id=given.get("client_id") or None,
        redirect_uri=given.get("redirect_uri") or None,
        scope=given.get("scope") or None,
        state=given.get("state") or None,
        code_challenge=given.get("code_challenge") or None,
        code_challenge_method=given.get("code_challenge_method") or None,
        resource=given.get("resource") or None,
        repeated=tuple(repeated),
    )


def judge(request: AuthorizeRequest) -> Wanted | Fault:
    """What the client wants, or the fault to send back to its redirect URI.

    Ask only once that URI is known to be the client's.
    """
    if request.repeated:
        return Fault(error="invalid_request", description="A parameter is given twice.")
    if request.response_type != "code":
        return Fault(
            error="unsupported_response_type", description="response_type must be code."
        )
    if request.state is not None and len(request.state) > LONGEST_STATE:
        return Fault(error="invalid_request", description="The state is too long.")
    challenge = request.code_challenge or ""
    if request.code_challenge_method != "S256" or not _CHALLENGE.fullmatch(challenge):
        return Fault(
            error="invalid_request",
            description="PKCE is required: a code_challenge by code_challenge_method S256.",
        )
    return _wanted(request, challenge)


def _wanted(request: AuthorizeRequest, challenge: str) -> Wanted | Fault:
    resource = parse_resource(request.resource or "", request.base_url)
    if resource is None:
        return Fault(
            error="invalid_target", description="resource must be one that this server protects."
        )
    verbs = parse_scope(request.scope, resource.kind)
    if verbs is not None and not verbs:
        return Fault(
            error="invalid_scope", description="No scope that was asked for can be granted here."
        )
    is_agent = resource.kind == "agent"
    return Wanted(
        resource=resource, code_challenge=challenge, verbs=verbs if is_agent else None
    )


def parse_resource(text: str, base_url: str) -> Resource | None:
    """The resource a URL names, or None. Told of a slug is only that it could be one."""
    base, url = _canonical(base_url), _canonical(text)
    if base is None or url is None or not url.startswith(base):
        return None
    path = url.removeprefix(base)
    if path == "/api":
        return Resource(url=url, kind="operator")
    if path == "/agent/v1":
        return Resource(url=url, kind="agent")
    slug = path.removeprefix("/mcp/")
    if path.startswith("/mcp/") and _SLUG.fullmatch(slug) and len(slug) <= _LONGEST_SLUG:
        return Resource(url=url, kind="agent", slug=slug)
    return None


def parse_scope(text: str | None, kind: Kind) -> tuple[str, ...] | None:
    """The scopes of a list separated by spaces that a grant of this kind may hold, each once and
    in the registry's order; None when no list was given.
    """
    if text is None or not text.strip(" "):
        return None
    named = set(text.split(" "))
    known = GRANTABLE if kind == "agent" else (OPERATOR_SCOPE,)
    return tuple(scope for scope in known if scope in named)


def offered(verbs: Iterable[str], asked: Sequence[str] | None) -> tuple[str, ...]:
    """The verbs of an endpoint's scope a consent screen lists: all, or those that were asked and
    those that change limits, which it must always show (REQ-10).
    """
    held = set(verbs)
    wanted = held if asked is None else {*asked, *ADMISSION}
    return tuple(verb for verb in GRANTABLE if verb in held and verb in wanted)


def ticked(verbs: Sequence[str]) -> tuple[str, ...]:
    """Those of the listed verbs that stand ticked at first: never one that changes a budget."""
    return tuple(verb for verb in verbs if verb not in ADMISSION)


def with_answer(redirect_uri: str, answer: dict[str, str | None]) -> str:
    """The redirect URI, byte for byte as registered, and our answer behind its own query."""
    said = urlencode({name: text for name, text in answer.items() if text is not None})
    mark = "&" if "?" in redirect_uri else "?"
    return f"{redirect_uri}{mark}{said}"


def _canonical(text: str) -> str | None:
    """Scheme and host in lower case, no default port; None for what no resource can be."""
    if len(text) > LONGEST_TEXT or not text.isascii() or not text.isprintable():
        return None
    try:
        url = urlsplit(text)
    except ValueError:
        return None
    if url.scheme not in _PORTS or "@" in url.netloc or any(one in text for one in "?#\\ "):
        return None
    return f"{url.scheme}://{url.netloc.lower().removesuffix(_PORTS[url.scheme])}{url.path}"
