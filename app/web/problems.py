"""A refusal as a page: what happened, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Response, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException

from app.domain.errors import DomainError, OutcomeUnknown, RateLimited, Unauthenticated
from app.edge.csrf import FIELD
from app.edge.problems import sentence_for, status_for

_HEADINGS = {
    400: "Request not understood",
    401: "You are not signed in",
    403: "Not allowed",
    404: "Page not found",
    405: "Not possible here",
    409: "Not possible now",
    410: "Sign-in link no longer valid",
    413: "Too much was sent",
    415: "Request not understood",
    429: "Too many requests",
    503: "Not available now",
}
_STEPS = {
    401: "Sign in, then try again.",
    404: "Check the address, or start from the first page.",
    429: "Wait a second, then load the page again.",
    503: "Wait a few seconds, then load the page again.",
}
_NEXT = "Go back, or start from the first page."
_UNKNOWN = "The database was lost while it saved: the change may or may not have been made."


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """One field of a form that was refused, to be sent again."""

    name: str
    label: str
    text: str


def refusal_page(error: DomainError) -> Response:
    """The page of a refusal; someone who only wants to look is sent to sign in (302)."""
    if isinstance(error, Unauthenticated) and request.method in ("GET", "HEAD"):
        return make_response(redirect("/login", code=302))
    sentence = _UNKNOWN if isinstance(error, OutcomeUnknown) else error.sentence
    response = page(status_for(error), sentence)
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def http_page(error: HTTPException) -> Response:
    """The page of what the framework refuses by itself; its own headers are kept."""
    status = error.code or 500
    response = page(status, sentence_for(status))
    for name, text in error.get_headers(request.environ):
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = text
    return response


def accident_page() -> Response:
    """The page of an unforeseen failure, without anything of its insides."""
    return page(500, sentence_for(500))


def page(status: int, sentence: str) -> Response:
    """A plain page for a status: heading, what happened, the next step."""
    heading = _HEADINGS.get(status, "Something went wrong" if status >= 500 else "Not possible")
    step = _STEPS.get(status, _NEXT)
    body = render_template("errors/problem.html", heading=heading, sentence=sentence, step=step)
    return make_response(body, status)


def again(status: int) -> Response:
    """The form someone posted without a live session (401) or with an old token (403), with
    every value still in it (identity.md, "Sessions and pages").
    """
    posted = [
        Posted(name=name, label=_label(name), text=text)
        for name, text in request.form.items(multi=True)
        if name != FIELD
    ]
    if status == 401 and not posted:
        return page(status, "You are not signed in, so nothing was done.")
    heading = "Your session has ended" if status == 401 else "Please send this again"
    body = render_template(
        "errors/again.html",
        heading=heading,
        posted=posted,
        action=request.full_path.rstrip("?"),
        is_signed_out=status == 401,
    )
    return make_response(body, status)


def _label(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").strip().capitalize() or "Value"
