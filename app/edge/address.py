"""Where a request comes from and whom it asks for: the peer's address, the Host, the Origin."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from flask import request

from app.domain.errors import Forbidden
from app.edge.deps import EdgeConfig, state


def client_address() -> str:
    """The address limits are counted by: the socket's peer, or, when that peer is a trusted
    proxy, the last address in `X-Forwarded-For` that is not one (ingest.md, "Limits").
    """
    peer = request.remote_addr or "unknown"
    return _behind_proxies(peer, request.headers.get("X-Forwarded-For"), state().config)


def is_from_trusted_proxy() -> bool:
    """Say whether the socket's peer is one of the proxies that the operator trusts."""
    return _is_trusted(request.remote_addr or "", state().config.trusted_proxies)


def refuse_foreign_host() -> None:
    """Refuse a Host that is not loopback when the server is bound to loopback: a page of another
    site must not reach it by a name that resolves here (agent-api.md, "Transport").

    The host of the configured base URL is ours too: whoever set it put a proxy in front.
    """
    config = state().config
    if not config.is_loopback:
        return
    host = _host_of(f"//{request.host}") if request.host else None
    if host is None or not (_is_loopback(host) or host == _host_of(config.base_url)):
        raise Forbidden("This server answers only to its own name.")


def is_same_origin() -> bool:
    """Say whether a form was posted from one of our own pages: no Origin, ours, or the browser's
    own word for it (identity.md, "One-time sign-in link").
    """
    origin = request.headers.get("Origin")
    if origin is None or request.headers.get("Sec-Fetch-Site") == "same-origin":
        return True
    return _origin(origin) in (_origin(state().config.base_url), _origin(request.host_url))


def _behind_proxies(peer: str, forwarded: str | None, config: EdgeConfig) -> str:
    hops = [hop.strip() for hop in (forwarded or "").split(",") if hop.strip()]
    address = peer
    while hops and _is_trusted(address, config.trusted_proxies):
        address = hops.pop()
    return address if _parsed(address) is not None else peer


def _is_trusted(address: str, proxies: Iterable[str]) -> bool:
    parsed = _parsed(address)
    if parsed is None:
        return False
    return any(parsed in ipaddress.ip_network(proxy, strict=False) for proxy in proxies)


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    parsed = _parsed(host)
    return parsed is not None and parsed.is_loopback


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port, the default port spelled out; None when it is no address."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None
