"""Where a server signs people in: its own metadata, and nothing of another server's."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from app.cli.client import Client, NoAnswer
from app.cli.output import Answer, Failure
from app.domain.values import Json

PROTECTED = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
_PORTS = {"http": 80, "https": 443}
_URL_LIMIT = 2048
# An OAuth endpoint answers with codes of its own; what we print has the API's.
_CODES = {400: "invalid_argument", 401: "unauthenticated", 403: "forbidden", 404: "not_found",
          429: "rate_limited", 503: "unavailable"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A server's OAuth endpoints, all of the origin of `url`.

    `resource` is what the grant is for; `revoke_url` is None where there is no such endpoint.
    """

    url: str
    issuer: str
    resource: str
    authorize_url: str
    token_url: str
    register_url: str
    revoke_url: str | None


def discover(url: str) -> Provider:
    """Ask the server at `url` (a base URL) how it signs people in (RFC 9728, RFC 8414).

    Raises Failure when it does not, when anything it names is not of its own origin, when its
    metadata speaks of another resource or issuer, and for http that leaves this machine.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not _is_loopback(parts.hostname or ""):
        raise Failure(f"Signing in through a browser needs https, and {url} has none."
                      " `switchboard login --token-stdin` works there.")  # fmt: skip
    origin = f"{parts.scheme}://{parts.netloc}"
    resource = f"{url}/api"
    protected = _fetched(url, f"{origin}{PROTECTED}{parts.path}/api")
    if protected.get("resource") != resource:
        raise _elsewhere(url, str(protected.get("resource")).removesuffix("/api"))
    issuer = _issuer(url, protected)
    told = _fetched(url, f"{origin}{SERVER}{urlsplit(issuer).path.rstrip('/')}")
    if told.get("issuer") != issuer:
        raise _elsewhere(url, str(told.get("issuer")))
    methods = told.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        raise Failure(f"{url} does not offer PKCE with S256, without which nobody signs in here.")
    return Provider(
        url=url, issuer=issuer, resource=resource,
        authorize_url=_endpoint(url, told, "authorization_endpoint"),
        token_url=_endpoint(url, told, "token_endpoint"),
        register_url=_endpoint(url, told, "registration_endpoint"),
        revoke_url=(
            _endpoint(url, told, "revocation_endpoint") if "revocation_endpoint" in told else None
        ),
    )  # fmt: skip


def posted_form(endpoint: str, fields: Mapping[str, str]) -> Answer:
    """POST a form to an endpoint. Raises Failure when nothing usable comes back."""
    client, path = _client(endpoint)
    try:
        return client.form(path, fields)
    except NoAnswer as silence:
        raise Failure(silence.sentence) from silence


def posted_json(endpoint: str, body: Mapping[str, Json]) -> Answer:
    """POST a JSON object to an endpoint. Raises Failure when nothing usable comes back."""
    client, path = _client(endpoint)
    try:
        return client.call("POST", path, body)
    except NoAnswer as silence:
        raise Failure(silence.sentence) from silence


def reason(answer: Answer) -> str:
    """Why an OAuth endpoint refused, in its own words, else its status."""
    for name in ("error_description", "error"):
        text = answer.body.get(name)
        if isinstance(text, str) and text:
            return text
    return f"it answered {answer.status}"


def refused(sentence: str, answer: Answer) -> Failure:
    """The refusal of an OAuth endpoint, in the API's error shape and with its code."""
    return Failure(sentence, code=_CODES.get(answer.status, "internal"))


def same_origin(one: str, other: str) -> bool:
    """Whether two URLs are of one scheme, host and port; False for what is no URL."""
    try:
        return _origin(urlsplit(one)) == _origin(urlsplit(other))
    except ValueError:  # a port or an address that is none
        return False


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _fetched(url: str, document: str) -> dict[str, Json]:
    client, path = _client(document)
    try:
        answer = client.call("GET", path)
    except NoAnswer as silence:
        raise Failure(silence.sentence) from silence
    if answer.status == 404:
        raise refused(f"{url} does not sign people in through a browser; give an operator token"
                      " on standard input with --token-stdin.", answer)  # fmt: skip
    if answer.status != 200:
        raise refused(f"{url} does not say how to sign in: {reason(answer)}", answer)
    return answer.body


def _client(endpoint: str) -> tuple[Client, str]:
    parts = urlsplit(endpoint)
    query = f"?{parts.query}" if parts.query else ""
    return Client(f"{parts.scheme}://{parts.netloc}", None), f"{parts.path or '/'}{query}"


def _issuer(url: str, protected: Mapping[str, Json]) -> str:
    servers = protected.get("authorization_servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    return _own(url, first)


def _endpoint(url: str, told: Mapping[str, Json], name: str) -> str:
    if name not in told:
        raise Failure(f"{url} names no {name.replace('_', ' ')}, so nobody can log in there.")
    return _own(url, told[name])


def _own(url: str, named: Json) -> str:
    """`named` when it is a plain URL of the same origin. Raises Failure for anything else."""
    if (
        isinstance(named, str) and len(named) <= _URL_LIMIT
        and named.isascii() and named.isprintable() and " " not in named
        and same_origin(url, named)
        and "@" not in urlsplit(named).netloc and not urlsplit(named).fragment
    ):  # fmt: skip
        return named
    raise _elsewhere(url, str(named))


def _elsewhere(url: str, named: str) -> Failure:
    return Failure(f"{url} says that people sign in at {named[:_URL_LIMIT]}, which is another"
                   " address. Nothing was sent there; if that is your server, log in to it by"
                   " that address.")  # fmt: skip


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"
