"""A refusal as a page: what happened, and what to do next."""

from __future__ import annotations

from contextlib import suppress

from flask import Response, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException

from app.domain.errors import (
    DomainError,
    OutcomeUnknown,
    RateLimited,
    Unauthenticated,
    Unavailable,
)
from app.edge.deps import session
from app.edge.identify import identify_session
from app.edge.problems import sentence_for, status_for
from app.web import again

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
_KEPT_HEADINGS = {
    401: "Your session has ended",
    403: "Please send this again",
    429: "Too many requests",
    503: "Not available now",
}
_LOST = {
    401: "You are not signed in, so nothing was saved. What you sent is still on this page.",
    403: "The form was out of date, so nothing was saved. What you sent is still on this page: "
    "check it, then send it again.",
}
_NEXT = "Go back, or start from the first page."
_UNKNOWN = "The database was lost while it saved: the change may or may not have been made."


def refusal_page(error: DomainError) -> Response:
    """The page of a refusal; someone who only wants to look is sent to sign in (302).

    What was typed is not lost to a limit or to a database that is away: nothing was changed, and
    the same form may be sent again.
    """
    if isinstance(error, Unauthenticated) and request.method in ("GET", "HEAD"):
        return _to_sign_in()
    sentence = _UNKNOWN if isinstance(error, OutcomeUnknown) else error.sentence
    if isinstance(error, RateLimited | Unavailable) and again.is_worth_keeping():
        response = _kept(status_for(error), sentence)
    else:
        response = page(status_for(error), sentence)
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _to_sign_in() -> Response:
    if "HX-Request" not in request.headers:
        return make_response(redirect("/login", code=302))
    # htmx would follow a redirect and put the page to sign in into the part it asked for.
    response = make_response("", 200)
    response.headers["HX-Redirect"] = "/login"
    return response


def http_page(error: HTTPException) -> Response:
    """The page of what the framework refuses by itself; its own headers are kept."""
    _recognise()
    status = error.code or 500
    response = page(status, sentence_for(status))
    for name, text in error.get_headers(request.environ):
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = text
    return response


def _recognise() -> None:
    """Know the viewer also at an address without a route, where no guard ran: to someone signed
    in the page has its navigation, and reads like that of a thing that does not exist.
    """
    if request.url_rule is None and session() is None:
        with suppress(Unavailable):
            identify_session()


def accident_page() -> Response:
    """The page of an unforeseen failure, without anything of its insides."""
    return page(500, sentence_for(500))


def page(status: int, sentence: str) -> Response:
    """A plain page for a status: heading, what happened, the next step."""
    heading = _HEADINGS.get(status, "Something went wrong" if status >= 500 else "Not possible")
    step = _STEPS.get(status, _NEXT)
    body = render_template("errors/problem.html", heading=heading, sentence=sentence, step=step)
    return make_response(body, status)


def refused_form(status: int) -> Response:
    """The form someone posted without a live session (401) or with an old token (403): the same
    one, with every value still in it (identity.md, "Sessions and pages"; E12).
    """
    if status == 401 and not again.is_worth_keeping():
        return page(status, "You are not signed in, so nothing was done.")
    return _kept(status, _LOST[status])


def show_whole(response: Response) -> Response:
    """Let htmx put the page of a refusal in the place of the page it came from: swapped into the
    target of a button it would be a page within a page (accessibility.md 6).
    """
    if "HX-Request" in request.headers and _is_refusal_page(response):
        response.headers["HX-Retarget"] = "body"
        response.headers["HX-Reswap"] = "innerHTML show:window:top"
        response.headers["HX-Reselect"] = "unset"
        response.headers["HX-Push-Url"] = "false"
    return response


def _is_refusal_page(response: Response) -> bool:
    if response.status_code < 400 or response.mimetype != "text/html":
        return False
    return response.get_data()[:9].lower() == b"<!doctype"


def _kept(status: int, sentence: str) -> Response:
    """The page that shows a refused form once more."""
    body = render_template(
        "errors/again.html",
        heading=_KEPT_HEADINGS[status],
        sentence=sentence,
        is_signed_out=status == 401,
        action=request.full_path.rstrip("?"),
        kept=again.kept_form(may_ask=status == 403),
    )
    return make_response(body, status)
