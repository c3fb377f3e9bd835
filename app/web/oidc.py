"""Signing in through an OpenID Connect provider, when one is configured.

Authorization code with PKCE and nonce. What the browser must bring back travels in a cookie that
is sealed with the server's key and good for ten minutes. Source: identity.md, "OIDC login".
"""

from __future__ import annotations

import hmac
import json
import logging
from dataclasses import asdict
from datetime import datetime, timedelta

from authlib.common.security import generate_token
from flask import (
    Blueprint,
    Response,
    current_app,
    make_response,
    redirect,
    render_template,
    request,
)
from flask.typing import ResponseReturnValue

from app.domain.enrollment import Enrollment
from app.domain.errors import Forbidden, Unavailable
from app.edge.deps import OidcConfig, database, state
from app.edge.identify import identify_session
from app.edge.sealed import open_sealed, seal
from app.reads import instants
from app.transactions import provider_people
from app.transactions.provider_people import Proven
from app.web import account, guard
from app.web.oidc_provider import Provider, Trip
from app.web.oidc_tokens import NonceWrong, Person
from app.web.oidc_wire import ProviderFailed

COOKIE = "sb_oidc_state"
LIFETIME = timedelta(minutes=10)

_EXTENSION = "switchboard_oidc"
_PATH = "/auth"
_NOT_CONFIGURED = "Signing in through a provider is not set up on this server."
_OTHER_TRIP = (
    "This answer of the sign-in provider does not belong to a sign-in that this browser began in"
    " the last ten minutes."
)
_FAILED = (
    "The sign-in provider did not confirm who you are, so nothing was changed. If it happens"
    " again, tell the person who runs this server."
)

log = logging.getLogger(__name__)


class _OtherTrip(Exception):
    """The answer does not belong to a sign-in that this browser began lately."""


bp = Blueprint("oidc", __name__)
bp.before_request(guard.limit_sign_in)
bp.before_request(identify_session)


@bp.get("/auth/login")
def depart() -> ResponseReturnValue:
    """Send the browser to the provider, with a sealed note of what it must bring back."""
    provider = _provider()
    trip = Trip(state=generate_token(43), nonce=generate_token(43), verifier=generate_token(64))
    try:
        url = provider.departure(trip)
    except ProviderFailed as failed:
        return _failed(failed)
    ends_at = instants.now(database()) + LIFETIME
    note = json.dumps({**asdict(trip), "ends_at": ends_at.timestamp()})
    response = make_response(redirect(url, code=302))
    return _with_note(response, seal(note, COOKIE), max_age=int(LIFETIME.total_seconds()))


@bp.get("/auth/callback")
def arrive() -> ResponseReturnValue:
    """Take the provider's answer: a session for whom it names, or a page that says why not.

    400 when the answer is not to this browser's question, 502 when the provider does not confirm
    anybody, 503 when none is configured, 403 for a person who may not come in.
    """
    config, provider = _config(), _provider()
    now = instants.now(database())
    try:
        trip = _trip(now)
        person = provider.arrival(_code(), trip, now)
        return account.signed_in(_let_in(person, config))
    except (NonceWrong, _OtherTrip):
        return _not_signed_in(400, _OTHER_TRIP)
    except ProviderFailed as failed:
        return _failed(failed)
    except Forbidden as refused:
        return _not_signed_in(403, refused.sentence)


@bp.after_request
def forget_note(response: Response) -> Response:
    """A note serves one answer: after any answer but an outage the browser drops it."""
    if request.endpoint == "oidc.arrive" and response.status_code != 503:
        return _with_note(response, "", max_age=0)
    return response


def _let_in(person: Person, config: OidcConfig) -> str:
    proven = Proven(
        issuer=config.issuer,
        subject=person.subject,
        display_name=person.display_name,
        email=person.email,
        verified_email=person.verified_email,
        groups=person.groups,
    )
    enrollment = Enrollment(mode=config.enrollment, allow=config.allow)
    return provider_people.sign_in(database(), proven, enrollment)


def _config() -> OidcConfig:
    config = state().config.oidc
    if config is None:
        raise Unavailable(_NOT_CONFIGURED)
    return config


def _provider() -> Provider:
    # Made on first use and without asking the provider anything; `setdefault` keeps the first.
    made = Provider(_config())
    held: Provider = current_app.extensions.setdefault(_EXTENSION, made)
    return held


def _trip(now: datetime) -> Trip:
    opened = open_sealed(request.cookies.get(COOKIE, ""), COOKIE)
    note: dict[str, str | float] = {} if opened is None else json.loads(opened)
    known = str(note.get("state", ""))
    shown = request.args.get("state", "")
    is_late = float(note.get("ends_at", 0.0)) < now.timestamp()
    if not known or is_late or not hmac.compare_digest(known.encode(), shown.encode()):
        raise _OtherTrip
    return Trip(state=known, nonce=str(note["nonce"]), verifier=str(note["verifier"]))


def _code() -> str:
    if "error" in request.args:
        raise ProviderFailed("it answered with an error")
    code = request.args.get("code", "")
    if not code:
        raise ProviderFailed("it answered without a code")
    return code


def _failed(failed: ProviderFailed) -> Response:
    # The reason is for whoever runs the server: it names no token and nothing the provider wrote.
    log.warning("oidc_sign_in_failed reason=%s", failed)
    return _not_signed_in(502, _FAILED)


def _not_signed_in(status: int, sentence: str) -> Response:
    body = render_template(
        "errors/not_signed_in.html", heading="You were not signed in", sentence=sentence
    )
    return make_response(body, status)


def _with_note(response: Response, note: str, *, max_age: int) -> Response:
    response.set_cookie(
        COOKIE,
        note,
        max_age=max_age,
        path=_PATH,
        secure=state().config.is_https,
        httponly=True,
        samesite="Lax",
    )
    return response
