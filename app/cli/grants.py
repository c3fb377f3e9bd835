"""An OAuth grant between commands: renewed without asking, by one command at a time, and ended."""

from __future__ import annotations

import time
from dataclasses import replace

from app.cli import credentials
from app.cli.credentials import Credentials, Grant
from app.cli.host import Host
from app.cli.oauth_discovery import posted_form, reason, refused
from app.cli.output import Answer, Failure

EARLY_SECONDS = 60
_DAY = 86400
_ENDED = (400, 401, 403)


def granted(
    answer: Answer, *, url: str, client_id: str, token_url: str, revoke_url: str | None
) -> Credentials:
    """What a token endpoint gave, to be saved. Raises Failure when it is no bearer token."""
    token, kind = answer.body.get("access_token"), answer.body.get("token_type")
    if not (isinstance(token, str) and credentials.is_token(token)
            and isinstance(kind, str) and kind.lower() == "bearer"):  # fmt: skip
        raise Failure(f"{url} answered without a usable token; nothing was saved.")
    refresh = answer.body.get("refresh_token")
    if not isinstance(refresh, str) or not credentials.is_token(refresh):
        return Credentials(url=url, token=token)
    return Credentials(url=url, token=token, grant=Grant(
        refresh_token=refresh, client_id=client_id, token_url=token_url, revoke_url=revoke_url,
        expires_at=_expiry(answer),
    ))  # fmt: skip


def is_due(saved: Credentials) -> bool:
    """Whether the access token ends so soon, by this machine's clock, that it is renewed first."""
    if saved.grant is None or saved.grant.expires_at is None:
        return False
    return time.time() >= saved.grant.expires_at - EARLY_SECONDS


def renewed(host: Host, stale: Credentials) -> Credentials:
    """Credentials with another access token than `stale` has, and the file rewritten.

    Under a lock, and with the file read again: a refresh token that another command has spent
    meanwhile is not spent twice, for that would end the grant. Raises Failure when nobody is
    logged in any more, the server is out of reach, or the grant has ended.
    """
    with credentials.locked(host):
        saved = credentials.load(host)
        if saved is None or saved.url != stale.url:
            raise Failure("Another command logged out meanwhile; log in again.",
                          code="unauthenticated")  # fmt: skip
        if saved.token != stale.token or saved.grant is None:
            return saved
        fresh = _refreshed(saved, saved.grant)
        credentials.save(host, fresh)
        return fresh


def end(saved: Credentials) -> None:
    """Revoke the grant itself (RFC 7009), so that nothing can be refreshed any more."""
    grant = saved.grant
    if grant is None or grant.revoke_url is None:
        return
    answer = posted_form(grant.revoke_url, {
        "token": grant.refresh_token, "token_type_hint": "refresh_token",
        "client_id": grant.client_id,
    })  # fmt: skip
    if answer.status not in (200, 401):  # 401: it does not even know us, so the grant is gone
        raise refused(f"{saved.url} did not revoke the login: {reason(answer)}", answer)


def _refreshed(saved: Credentials, grant: Grant) -> Credentials:
    answer = posted_form(grant.token_url, {
        "grant_type": "refresh_token", "refresh_token": grant.refresh_token,
        "client_id": grant.client_id, "resource": f"{saved.url}/api",
    })  # fmt: skip
    if answer.status in _ENDED:
        raise Failure(f"The login to {saved.url} has ended; log in again with `switchboard login`.",
                      code="unauthenticated")  # fmt: skip
    if answer.status != 200:
        raise refused(f"{saved.url} did not renew the login: {reason(answer)}", answer)
    fresh = granted(
        answer, url=saved.url, client_id=grant.client_id, token_url=grant.token_url,
        revoke_url=grant.revoke_url,
    )  # fmt: skip
    if fresh.grant is None:  # the old refresh token stays good (RFC 6749, 6)
        return replace(fresh, grant=replace(grant, expires_at=_expiry(answer)))
    return fresh


def _expiry(answer: Answer) -> int | None:
    """When the access token ends, in seconds of this machine's clock; None when nothing says."""
    seconds = answer.body.get("expires_in")
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds <= 400 * _DAY:
        return None
    return int(time.time()) + seconds
