"""What every page asks before its view runs: how often, who, and is this form ours."""

from __future__ import annotations

from uuid import UUID

from flask import request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from app.domain.errors import Forbidden, InvalidArgument, RateLimited
from app.edge.address import client_address, is_same_origin
from app.edge.csrf import is_csrf_valid
from app.edge.deps import session, state
from app.web import problems

FORM_LIMIT_BYTES = 1024 * 1024

_TOO_MANY = (
    "Too many changes came from you at once, so nothing was done. Wait a second, then send this "
    "again."
)
# What a browser says of a request that another site, or another host or port of ours, began.
_FOREIGN = ("cross-site", "same-site")
_READS = ("GET", "HEAD", "OPTIONS")


def limit_sign_in() -> None:
    """5 requests per second, burst 10, per address and process, for every way in or out
    (identity.md, routes). Raises RateLimited.
    """
    if not state().limits.sign_in.take(client_address()):
        raise RateLimited("Too many sign-in requests came from your address.")


def refuse_foreign_form() -> None:
    """Refuse what was posted from a page of another site. Raises Forbidden (identity.md)."""
    if not is_same_origin() or request.headers.get("Sec-Fetch-Site") in _FOREIGN:
        raise Forbidden("This form was sent from another site, so nothing was done.")


def check_form() -> ResponseReturnValue | None:
    """On every state-changing request of a signed-in human: the form token, by field or header.

    A form of another site is refused before anything else, and not shown again: a page of ours
    that offers to send it once more would be that site's hand on our button. Raises Forbidden.
    Without a live session 401, with a wrong token 403; both pages keep what was typed, and the
    second carries a fresh token. At most 3 posts a second and 30 at once for one human in one
    process; raises RateLimited (identity.md, "Sessions and pages").
    """
    if request.method in _READS:
        return None
    _read_form()
    refuse_foreign_form()
    live = session()
    if live is None:
        return problems.refused_form(401)
    if not is_csrf_valid():
        return problems.refused_form(403)
    _limit_posts(live.human.id)
    return None


def _limit_posts(human_id: UUID) -> None:
    # After the token: a page of another site must not use up what the person may do.
    if not state().limits.board_posts.take(str(human_id)):
        raise RateLimited(_TOO_MANY)


def _read_form() -> None:
    request.max_content_length = FORM_LIMIT_BYTES
    try:
        _ = request.form
    except HTTPException:
        raise
    except Exception as error:
        # The server parses chunks while we read and raises types of its own for a broken one;
        # the form never arrived whole, so nothing was asked of us.
        raise InvalidArgument("The form could not be read to its end.") from error
