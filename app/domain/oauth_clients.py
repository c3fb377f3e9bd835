"""What an OAuth client may register: its name for people, and where its answers may go; all pure.

**Redirect URIs** are compared as text, whole. RFC 8252 would let a native app vary the port of a
loopback address; we do not: such an app registers the port it listens on, as the CLI does.
Source: identity.md, "OAuth server"; RFC 7591, RFC 8252.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import InvalidArgument
from app.domain.hook_urls import parse_hook_url
from app.domain.tokens import check_name

MOST_REDIRECT_URIS = 10
UNNAMED = "Unnamed app"

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def check_redirect_uris(uris: Sequence[str], field: str = "redirect_uris") -> tuple[str, ...]:
    """The redirect URIs of a registration as given; InvalidArgument on `field`.

    One to ten, each at most 2,048 bytes of ASCII, https, or http to this machine by the three
    names it has; no fragment, no user name.
    """
    if not 1 <= len(uris) <= MOST_REDIRECT_URIS:
        raise InvalidArgument(
            f"{field}: name 1 to {MOST_REDIRECT_URIS} redirect URIs.", field=field
        )
    for uri in uris:
        _check_redirect_uri(uri, field)
    if len(set(uris)) != len(uris):
        raise InvalidArgument(f"{field}: a redirect URI is named twice.", field=field)
    return tuple(uris)


def check_client_name(text: str | None, field: str = "client_name") -> str:
    """A client's name for people, 1 to 100 characters with one at least to be seen."""
    return UNNAMED if text is None else check_name(text, field)


def _check_redirect_uri(uri: str, field: str) -> None:
    url = parse_hook_url(uri, allows_http=True, field=field)
    if not uri.startswith(("https://", "http://")):
        raise InvalidArgument(f"{field}: write the scheme in lower case.", field=field)
    if url.scheme == "http" and url.host not in _LOOPBACK:
        raise InvalidArgument(
            f"{field}: http is only for 127.0.0.1, [::1] and localhost; use https.", field=field
        )
