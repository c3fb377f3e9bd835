"""What `doctor` thinks of the settings and the host."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.domain.checks import Check, Site, fail, ok, warn

_DISK_WARNS, _DISK_FAILS = 2 << 30, 256 << 20  # bytes
_TOKEN_LETTERS = 10  # different ones; random text of 32 bytes has more
_HERE = ("localhost", "127.0.0.1", "::1")


def base_url(site: Site) -> Check:
    """Cookies and tokens travel in clear only within this machine."""
    url = urlsplit(site.base_url)
    if site.dev_login and not site.is_loopback:
        return fail("base url", "anyone who reaches this server may sign in",
                     "Unset SWITCHBOARD_DEV_LOGIN.")
    if url.scheme == "https":
        if not site.has_trusted_proxies:
            return warn("base url", f"{site.base_url}; every caller looks like the proxy",
                         "Set SWITCHBOARD_TRUSTED_PROXIES to the proxy's address.")
        return ok("base url", f"{site.base_url}; the cookie is Secure")
    if url.hostname not in _HERE:
        return fail("base url", f"{site.base_url}: cookies and tokens travel in clear",
                     "Put TLS in front, and set SWITCHBOARD_BASE_URL to the https address.")
    if not site.is_loopback:
        return warn("base url", f"{site.base_url}, but the server listens beyond this machine",
                     "Set SWITCHBOARD_BASE_URL to the address that people see.")
    if (url.port or 80) != site.port and not site.has_trusted_proxies:
        return warn("base url", f"{site.base_url}, but the server listens on port {site.port}",
                     f"Set SWITCHBOARD_BASE_URL to port {site.port}, unless a proxy passes it on.")
    return ok("base url", f"{site.base_url}; this machine only, the cookie is not Secure")


def encryption_key(place: str, *, stored: int, shut: int) -> Check:
    """The key opens every stored secret."""
    if shut:
        return fail("encryption key", f"{shut} of {stored} stored secrets do not open with it",
                     f"Put the key they were sealed with into {place}.")
    return ok("encryption key", f"in {place}; opens all {stored} stored secrets")


def no_key(place: str) -> Check:
    """There is none, and no server starts without one."""
    return fail("encryption key", f"{place} is not set in this shell",
                 "Set it to 32 bytes in hex or base64, the same on every server.")


def metrics_token(token: str | None) -> Check:
    """Set, and not one letter repeated; the settings have seen to its length."""
    do = "Set SWITCHBOARD_METRICS_TOKEN to at least 32 random bytes."
    if token is None:
        return warn("metrics token", "not set in this shell: a server with these settings closes"
                    " /metrics to everyone", do)
    if len(set(token)) < _TOKEN_LETTERS:
        return warn("metrics token", "set, and easily guessed", do)
    return ok("metrics token", "set")


def disk(site: Site) -> Check | None:
    """Room beside the embedded cluster; None when the database is elsewhere."""
    if site.free_bytes is None:
        return None
    says = f"{site.free_bytes / (1 << 30):.1f} GiB free at {site.home}"
    do = "Make room: Postgres stops when it cannot write, and starts when it can."
    if site.free_bytes < _DISK_FAILS:
        return fail("disk", says, do)
    return warn("disk", says, do) if site.free_bytes < _DISK_WARNS else ok("disk", says)
