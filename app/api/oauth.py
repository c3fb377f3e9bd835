"""Registration, tokens and their end: the JSON half of our OAuth server (identity.md).

Authlib judges what the standards define: a client's metadata, a form's encoding, the verifier and
the challenge it proves, the bodies of errors. Its grant classes are not used: they look a code up,
judge it and delete it in three steps of storage, so that of twenty callers more than one would
pass; here one statement of the database decides (transactions/oauth_tokens.py).
"""

from __future__ import annotations

from authlib.common.urls import url_decode
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import InvalidClientError, InvalidRequestError
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oauth2.rfc7636.challenge import CODE_VERIFIER_PATTERN
from flask import Blueprint, Response, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from app.api import oauth_registration
from app.domain import errors
from app.domain.errors import DomainError
from app.domain.oauth import LONGEST_TEXT, Fault
from app.edge import oauth as urls
from app.edge import problems
from app.edge.bodies import body_bytes, json_body
from app.edge.deps import database, state
from app.transactions import oauth_clients, oauth_tokens
from app.transactions.oauth_tokens import Issued, Redemption, Renewal

BODY_LIMIT_BYTES = 64 * 1024

_FORM = "application/x-www-form-urlencoded"
# What RFC 6749 has no word for is told by the nearest one; the status says which it was.
_WORDS = {
    errors.RateLimited: "temporarily_unavailable",
    errors.Unavailable: "temporarily_unavailable",
    errors.OutcomeUnknown: "server_error",
}
_NO_SECRET = "Clients of this server have no secret: send client_id only."
_CHALLENGE = 'Basic realm="switchboard"'  # the one scheme that a client can try (RFC 6749 2.3.1)
_NO_GRANT_TYPE = Fault(
    error="unsupported_grant_type", description="Send authorization_code or refresh_token."
)
# All that an error_description may hold (RFC 6749 5.2).
_SAYABLE = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}

bp = Blueprint("oauth", __name__)
bp.before_request(urls.take_turn)


@bp.post(urls.REGISTER)
def register() -> ResponseReturnValue:
    """Write an app down (RFC 7591): 201 with its id; it has no secret."""
    asked = oauth_registration.read(json_body(BODY_LIMIT_BYTES))
    try:
        made = oauth_clients.register(database(), asked.client_name, asked.redirect_uris)
    except errors.InvalidArgument as wrong:
        raise oauth_registration.refusal(wrong.field, _sayable(wrong.sentence)) from wrong
    return jsonify(oauth_registration.answer(made)), 201


@bp.post(urls.TOKEN)
def issue() -> ResponseReturnValue:
    """Tokens for a code, or for a refresh token (RFC 6749 4.1.3 and 6)."""
    form = _form()
    client_id = _client(form)
    match form.get("grant_type"):
        case "authorization_code":
            issued = oauth_tokens.redeem(database(), _redemption(form, client_id))
        case "refresh_token":
            issued = oauth_tokens.refresh(database(), _renewal(form, client_id))
        case None:
            raise InvalidRequestError("Missing 'grant_type' in request.")
        case _:
            raise _error(_NO_GRANT_TYPE)
    return jsonify(_tokens(_had(issued)))


@bp.post(urls.REVOKE)
def revoke() -> ResponseReturnValue:
    """End the grant of a token (RFC 7009): 200, whether there was one or not."""
    form = _form()
    client_id = _client(form)
    fault = oauth_tokens.revoke(database(), _needed(form, "token"), client_id)
    if fault is not None:
        raise _error(fault)
    return jsonify({})


@bp.errorhandler(OAuth2Error)
def refuse(error: OAuth2Error) -> Response:
    """A refusal in the words and the shape of RFC 6749 5.2 and RFC 7591 3.2.2."""
    status, body, headers = error()
    response = jsonify(body)
    response.status_code = status
    response.headers.extend((name, text) for name, text in headers if name != "Content-Type")
    if status == 401:
        response.headers["WWW-Authenticate"] = _CHALLENGE
    return response


@bp.errorhandler(DomainError)
def refuse_domain(error: DomainError) -> Response:
    """A refusal of ours in the same shape; its status is that of every other surface."""
    word = _WORDS.get(type(error), "invalid_request")
    said = _sayable(error.sentence)
    response = refuse(OAuth2Error(said, error=word, status_code=problems.status_for(error)))
    if isinstance(error, errors.RateLimited):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


@bp.errorhandler(HTTPException)
def refuse_http(error: HTTPException) -> Response:
    """What the framework refuses by itself, in the same shape."""
    status = error.code or 500
    word = "invalid_request" if status < 500 else "server_error"
    return refuse(OAuth2Error(problems.sentence_for(status), error=word, status_code=status))


def _form() -> dict[str, str]:
    """The form of a request, each parameter once; those without a value are left out.

    Raises TooLarge, and InvalidRequestError for another type, encoding or a repeated parameter.
    """
    data = body_bytes(BODY_LIMIT_BYTES)
    if request.mimetype != _FORM:
        raise InvalidRequestError(f"The body must be {_FORM}.")
    try:
        pairs = url_decode(data.decode("ascii"))
    except ValueError:
        raise InvalidRequestError(f"The body is not {_FORM}.") from None
    form = dict(pairs)
    if len(form) < len(pairs):
        raise InvalidRequestError("A parameter is given twice.")
    return {name: text for name, text in form.items() if text}


def _client(form: dict[str, str]) -> str:
    """The public client that says who it is; one that shows a secret is none of ours.

    One that tries by a header is answered 401 with the scheme it used (RFC 6749 5.2).
    """
    if "Authorization" in request.headers:
        raise InvalidClientError(_NO_SECRET, status_code=401)
    if "client_secret" in form:
        raise InvalidClientError(_NO_SECRET)
    return _needed(form, "client_id")


def _redemption(form: dict[str, str], client_id: str) -> Redemption:
    return Redemption(
        code=_needed(form, "code"),
        client_id=client_id,
        redirect_uri=_needed(form, "redirect_uri"),
        challenge=_proven(_needed(form, "code_verifier")),
        resource=form.get("resource"),
        base_url=state().config.base_url,
    )


def _renewal(form: dict[str, str], client_id: str) -> Renewal:
    return Renewal(
        refresh_token=_needed(form, "refresh_token"),
        client_id=client_id,
        scope=form.get("scope"),
        resource=form.get("resource"),
        base_url=state().config.base_url,
    )


def _proven(verifier: str) -> str:
    """The challenge a verifier proves; nothing for a text that is none, so it fits no code."""
    if not CODE_VERIFIER_PATTERN.fullmatch(verifier):
        return ""
    return str(create_s256_code_challenge(verifier))


def _needed(form: dict[str, str], name: str) -> str:
    text = form.get(name, "")
    if not text:
        raise InvalidRequestError(f"Missing '{name}' in request.")
    if len(text) > LONGEST_TEXT:
        raise InvalidRequestError(f"The '{name}' is too long.")
    return text


def _had(issued: Issued | Fault) -> Issued:
    if isinstance(issued, Fault):
        raise _error(issued)
    return issued


def _error(fault: Fault) -> OAuth2Error:
    return OAuth2Error(fault.description, error=fault.error)


def _sayable(sentence: str) -> str:
    return "".join(one if one in _SAYABLE else "?" for one in sentence)


def _tokens(issued: Issued) -> dict[str, str | int]:
    return {
        "access_token": issued.access_token,
        "token_type": "Bearer",
        "expires_in": issued.expires_in,
        "refresh_token": issued.refresh_token,
        "scope": " ".join(issued.scopes),
    }
