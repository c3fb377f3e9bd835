"""The operator door: a human's bearer token and nothing else opens it (operator-api.md)."""

from __future__ import annotations

from typing import TypeVar

from flask import Blueprint, request

from app.api import arguments
from app.api.arguments import Arguments
from app.edge.bodies import json_body
from app.edge.identify import identify_operator

BODY_LIMIT_BYTES = 64 * 1024

bp = Blueprint("operator", __name__, url_prefix="/api/v1")
bp.before_request(identify_operator)

A = TypeVar("A", bound=Arguments)


def asked(model: type[A]) -> A:
    """The request's body as `model`; raises TooLarge, UnsupportedMediaType, InvalidArgument."""
    return arguments.parse(model, json_body(BODY_LIMIT_BYTES))


def asked_or_empty(model: type[A]) -> A:
    """As `asked`; a request without a body stands for `{}`."""
    return asked(model) if has_body() else arguments.parse(model, {})


def has_body() -> bool:
    """Whether the request carries one, of declared length or in chunks."""
    return request.content_length not in (None, 0) or "Transfer-Encoding" in request.headers


def queried(model: type[A]) -> A:
    """The query parameters as `model`; an unknown one is InvalidArgument naming it."""
    return arguments.parse(model, arguments.from_query(model, request.args.items(multi=True)))
