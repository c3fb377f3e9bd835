"""The URL of a notify hook: which spellings are taken, and how it is shown (contract push.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from app.domain.errors import InvalidArgument
from app.domain.redaction import REDACTED

LONGEST_BYTES: Final = 2048
_PORTS: Final = {"https": 443, "http": 80}
_NAME: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.(?!-)[A-Za-z0-9_-]{1,63})*")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_BRACKETED: Final = re.compile(r"\[[0-9A-Fa-f:.%]+\](:[0-9]+)?")
_LONGEST_NAME: Final = 253


@dataclass(frozen=True, slots=True, kw_only=True)
class HookUrl:
    """A URL that may be dialled once its addresses are judged. `host` has no brackets and is in
    lower case; `target` is the path with its query, as it is sent.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_hook_url(text: str, *, allows_http: bool, field: str = "url") -> HookUrl:
    """A hook's URL in its parts; InvalidArgument on `field` for one that cannot be used.

    An IPv4 address is four plain decimal numbers: other spellings of one are refused, for what
    is judged must be what is dialled.
    """
    fault = _fault_of_text(text)
    if fault is None:
        try:
            return _parts(_split(text), allows_http=allows_http)
        except ValueError as wrong:
            fault = str(wrong)
    raise InvalidArgument(f"{field}: {fault}", field=field)


def redacted(url: str) -> str:
    """A stored URL as every answer and page shows it: without what stands in its query."""
    before, mark, _ = url.partition("?")
    return f"{before}?{REDACTED}" if mark else before


def _fault_of_text(text: str) -> str | None:
    if len(text.encode("utf-8", "replace")) > LONGEST_BYTES:
        return f"a URL is at most {LONGEST_BYTES} bytes."
    if not text.isascii() or not text.isprintable() or any(one in text for one in ' \\"<>'):
        return "a URL is printable ASCII; write other characters percent-encoded or in punycode."
    if "#" in text:  # an empty fragment, too, which the parts of a URL no longer show
        return "the URL must have no fragment."
    return None


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError:
        raise ValueError("the host of the URL cannot be read.") from None


def _parts(url: SplitResult, *, allows_http: bool) -> HookUrl:
    """The parts of a URL; ValueError with a sentence."""
    if url.scheme not in _PORTS:
        raise ValueError("the URL must begin with https://.")
    if url.scheme == "http" and not allows_http:
        raise ValueError(
            "the URL must begin with https://; only a server with SWITCHBOARD_PUSH_ALLOW_HTTP=1"
            " takes http://."
        )
    if "@" in url.netloc:
        raise ValueError("the URL must hold no user name or password.")
    query = f"?{url.query}" if url.query else ""
    return HookUrl(
        scheme=url.scheme,
        host=_host(url),
        port=_port(url),
        target=f"{url.path or '/'}{query}",
    )


def _port(url: SplitResult) -> int:
    try:
        port = url.port
    except ValueError:
        port = 0
    if port == 0 or url.netloc.endswith(":"):
        raise ValueError("the port must be a number from 1 to 65535.")
    return _PORTS[url.scheme] if port is None else port


def _host(url: SplitResult) -> str:
    host = (url.hostname or "").lower()
    if "[" in url.netloc or "]" in url.netloc:
        if not _BRACKETED.fullmatch(url.netloc):
            raise ValueError("an IPv6 address stands in brackets, with nothing but a port behind.")
        return str(_address6(host))
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return _address4(host)
    if not _NAME.fullmatch(host) or len(host) > _LONGEST_NAME:
        raise ValueError("the URL must name a host, such as https://hooks.example.org/wake.")
    return host


def _address4(host: str) -> str:
    try:
        return str(IPv4Address(host))
    except ValueError:
        raise ValueError("an IPv4 address is four decimal numbers from 0 to 255.") from None


def _address6(host: str) -> IPv6Address:
    try:
        address = IPv6Address(host)
    except ValueError:
        raise ValueError("the IPv6 address is not one.") from None
    if address.scope_id is not None:
        raise ValueError("an IPv6 address must have no zone.")
    return address
