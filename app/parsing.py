"""What a setting's text may be: each parser gives the value, or a ValueError that ends a sentence
which begins with the setting's name.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from pathlib import Path
from urllib.parse import urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

KEY_BYTES = 32
ENROLLMENT_MODES = ("open", "allowlist", "invite")

_RATE = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
_BASE = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_WORDS = {"1": True, "on": True, "true": True, "0": False, "off": False, "false": False}


def key(text: str) -> bytes:
    """32 bytes out of hex or base64 (either alphabet); ValueError without repeating the text."""
    if re.fullmatch(r"[0-9A-Fa-f]{64}", text):
        return bytes.fromhex(text)
    try:
        padded = text.rstrip("=").replace("-", "+").replace("_", "/")
        key = base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError("must be 32 bytes, written in hex or base64.")
    return key


def address(text: str) -> tuple[str, int]:
    """HOST:PORT as a pair; an empty host is every address."""
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    is_bracketed = host != bare
    if not colon or not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise ValueError("must be HOST:PORT with a port from 1 to 65535.")
    if (":" in bare) != is_bracketed or (is_bracketed and not is_address(bare)):
        raise ValueError("must be HOST:PORT, an IPv6 address in brackets.")
    return bare or "0.0.0.0", int(port)


def own_url(host: str, port: int) -> str:
    """Where a server that listens there is found from this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def base_url(text: str) -> str:
    """An http or https URL of a host without a path, and without the last slash."""
    found = _BASE.fullmatch(text.rstrip("/"))
    if not found:
        raise ValueError("must be an http or https URL without a path: https://board.example.org.")
    if found[2] and not 1 <= int(found[2][1:]) <= 65535:
        raise ValueError("must have a port from 1 to 65535.")
    return text.rstrip("/")


def database_url(text: str) -> str:
    """Whatever libpq takes for a connection; ValueError without repeating the text."""
    try:
        conninfo_to_dict(text)
    except ProgrammingError:
        raise ValueError("must be a Postgres connection URL.") from None
    return text


def path(text: str) -> Path:
    """A path made absolute, `~` spelled out."""
    return Path(text).expanduser().absolute()


def networks(text: str) -> tuple[str, ...]:
    """Addresses and networks, separated by commas."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        try:
            ipaddress.ip_network(name, strict=False)
        except ValueError:
            raise ValueError("must be addresses or networks such as 10.0.0.0/8,::1.") from None
    return names


def rate(text: str) -> tuple[int, int]:
    """RATE/BURST: requests per second, and how many at once."""
    found = _RATE.fullmatch(text)
    if not found or not int(found[1]) or not int(found[2]):
        raise ValueError("must be RATE/BURST in whole numbers of at least 1, such as 200/400.")
    return int(found[1]), int(found[2])


def switch(text: str) -> bool:
    """1 or 0, and the words that mean them."""
    if text.lower() not in _WORDS:
        raise ValueError("must be 1 or 0 (on, off, true and false do as well).")
    return _WORDS[text.lower()]


def metrics_token(text: str) -> str:
    """A secret long enough not to be guessed, and such as a header carries."""
    if len(text.encode("utf-8", "surrogateescape")) < 32:
        raise ValueError("must be at least 32 bytes long.")
    if not text.isprintable() or " " in text:
        raise ValueError("must not contain spaces or control characters.")
    return text


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise ValueError("must be a whole number of at least 1.")
    return int(text)


def whole(text: str) -> int:
    """A whole number, 0 too."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError("must be a whole number.")
    return int(text)


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def issuer(text: str) -> str:
    """The exact name of a sign-in provider: an https URL, or http on this machine."""
    if not _is_web_address(text) or urlsplit(text).query:
        raise ValueError("must be the provider's https URL, as it spells it itself.")
    return text


def redirect_url(text: str) -> str:
    """Where the sign-in provider sends people back to."""
    if not _is_web_address(text):
        raise ValueError("must be the https URL of /auth/callback as people reach it.")
    return text


def enrollment_mode(text: str) -> str:
    """Who may come in through the provider for the first time."""
    if text not in ENROLLMENT_MODES:
        raise ValueError("must be open, allowlist or invite.")
    return text


def allowed(text: str) -> tuple[str, ...]:
    """Email addresses and @domains, separated by commas, in lower case."""
    names = tuple(name.strip().lower() for name in text.split(",") if name.strip())
    if not all(re.fullmatch(r"[^@\s]*@[^@\s]+", name) for name in names):
        raise ValueError("must be email addresses or domains such as ana@example.org,@example.com.")
    return names


def _is_web_address(text: str) -> bool:
    try:
        url = urlsplit(text)
        _ = url.port
    except ValueError:
        return False
    if url.fragment or url.username or url.password or not text.isprintable() or " " in text:
        return False
    host = url.hostname or ""
    is_here = host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)
    return bool(host) and (url.scheme == "https" or (url.scheme == "http" and is_here))
