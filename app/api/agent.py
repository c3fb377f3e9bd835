"""The agent door: POST /agent/v1/<verb>, GET for what only reads, and /agent/v1/verbs."""

from __future__ import annotations

import re

from flask import Blueprint, abort, jsonify, request
from flask.typing import ResponseReturnValue

from app.api import arguments, registry
from app.api.verb import Call, Verb
from app.domain import callers
from app.domain.errors import InvalidArgument
from app.domain.values import Json
from app.edge import client
from app.edge.bodies import json_body
from app.edge.deps import endpoint, state
from app.edge.identify import identify_endpoint

BODY_LIMIT_BYTES = 1024 * 1024
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_CLAIM_KEY = re.compile(r"[!-~]{1,64}", re.ASCII)

bp = Blueprint("agent", __name__, url_prefix="/agent/v1")
bp.before_request(identify_endpoint)


@bp.route("", methods=METHODS, provide_automatic_options=False)
@bp.route("/", methods=METHODS, provide_automatic_options=False)
def show_nothing() -> ResponseReturnValue:
    """No verb; but whoever asks without a credential learns where to get one (RFC 9728)."""
    abort(404)


@bp.route("/verbs", methods=METHODS, provide_automatic_options=False)
def list_verbs() -> ResponseReturnValue:
    """The verbs the caller's grant opens, with their JSON Schemas; nothing else is named."""
    _require_method("GET", "HEAD")
    return jsonify(verbs=[verb.described for verb in registry.granted(endpoint())])


@bp.route("/<path:name>", methods=METHODS, provide_automatic_options=False)
def call_verb(name: str) -> ResponseReturnValue:
    """Run one verb: it exists (404), this is how to ask (405), it is granted (403), then its
    arguments are read. Every method comes here, so that no answer precedes the credential.
    """
    verb = registry.find(name)
    _require_method(*(("GET", "HEAD", "POST") if verb.read_only else ("POST",)))
    callers.require_verb(endpoint(), verb.name)
    raw = _raw_arguments(verb)
    call = Call(
        endpoint=endpoint(),
        gone=client.watcher(request.environ),
        watcher=state().watchtower.over(request.environ),
        claim_key=_claim_key(verb),
    )
    return jsonify(verb.run(call, raw))


def _require_method(*allowed: str) -> None:
    if request.method not in allowed:
        abort(405, allowed)


def _raw_arguments(verb: Verb) -> dict[str, Json]:
    if request.method == "POST":
        return json_body(BODY_LIMIT_BYTES)
    return arguments.from_query(verb.arguments, request.args.items(multi=True))


def _claim_key(verb: Verb) -> str | None:
    """The Idempotency-Key of a claim (R61); verbs that make no claim never look at the header."""
    key = request.headers.get("Idempotency-Key")
    if key is None or not verb.takes_claim_key:
        return None
    if not _CLAIM_KEY.fullmatch(key):
        raise InvalidArgument(
            "Idempotency-Key must be 1 to 64 visible ASCII characters.", field="Idempotency-Key"
        )
    return key
