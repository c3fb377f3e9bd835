"""The consent page: an app asks to act for a person, and the person allows or denies it.

The app's request stands in the query of the address, at the post as well, and is judged anew each
time. What goes wrong before its redirect URI is known to be registered is a page that leads
nowhere; everything later goes to that URI. Source: identity.md, "OAuth server"; RFC 6749 4.1.
"""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from flask import Blueprint, Response, make_response, redirect, request
from flask.typing import ResponseReturnValue

from app.domain.errors import Conflict, InvalidArgument
from app.domain.oauth import AuthorizeRequest, parse_resource, read_request
from app.domain.references import parse_uuid
from app.edge import headers
from app.edge import oauth as urls
from app.edge.deps import database, human, session, state
from app.edge.identify import identify_session
from app.transactions import oauth, once
from app.transactions.oauth import Asked, SentBack
from app.web import come_back, consent_words, guard, refusals
from app.web.answers import form_page, see
from app.web.consent_form import ConsentForm
from app.web.forms import Form, posts

_ALLOW, _DENY = "allow", "deny"

bp = Blueprint("consent", __name__)


@bp.before_request
def let_form_end_at_the_app() -> None:
    """Every answer here, a refused form too, may have its form end at the registered redirect URI:
    browsers hold redirects after a post to `form-action` (accessibility.md 6).
    """
    with suppress(InvalidArgument):
        headers.let_form_lead_to(oauth.trust(database(), _request()))


bp.before_request(urls.take_turn)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


def _prepare(form: Form) -> None:
    """Fill the choices that are the viewer's own, for a refused form that is shown again."""
    with suppress(InvalidArgument):
        asked = oauth.begin(database(), human(), _request())
        if isinstance(form, ConsentForm) and isinstance(asked, Asked):
            form.put(asked, names_one=_names_one())


@bp.get(urls.AUTHORIZE)
def show() -> ResponseReturnValue:
    """Who asks for what, and the two answers. Somebody signed out signs in first, and comes back.

    400 when the app or its redirect URI is unknown; a later fault goes to the redirect URI (303),
    but of somebody signed in only: anyone may register an app, and a link of ours that sends every
    stranger on to its address would lend it our name (RFC 9700 4.11.2).
    """
    if session() is None:
        oauth.trust(database(), _request())
        return come_back.remember(make_response(redirect("/login", code=302)))
    asked = oauth.begin(database(), human(), _request())
    if isinstance(asked, SentBack):
        return _away(asked.url)
    form = ConsentForm(formdata=None)
    form.put(asked, names_one=_names_one())
    form.suggest(asked)
    return _page(asked, form)


@bp.post(urls.AUTHORIZE)
@posts(
    ConsentForm,
    "oauth/fields.html",
    button="Look at what the app asks for",
    prepare=_prepare,
)
def decide() -> ResponseReturnValue:
    """Back to the app with a code, or with the word that it was denied.

    Only the consent page itself has the two answers. A refused form that is shown again does not
    keep which of them was pressed: sent again it leads to that page, its choices kept, so that
    nobody allows what they have not just read.
    """
    asked = oauth.begin(database(), human(), _request())
    if isinstance(asked, SentBack):
        return _away(asked.url)
    form = ConsentForm()
    if form.decision.data == _DENY:
        return _away(oauth.deny(database(), human(), _request()))
    form.put(asked, names_one=_names_one())
    if form.decision.data != _ALLOW:
        return _page(asked, form)
    try:
        return _away(_allow(asked, form))
    except InvalidArgument as wrong:
        form.blame(wrong.field, refusals.sentence(form, wrong))
    except Conflict as over:
        return see("/settings/apps", flash=over.sentence)
    return _page(asked, form, status=422)


def _allow(asked: Asked, form: ConsentForm) -> str:
    endpoint_id: str | None = None
    verbs: tuple[str, ...] = ()
    if form.asks_verbs():
        endpoint_id, verbs = form.chosen(asked.endpoints)
    return oauth.allow(
        database(),
        human(),
        _request(),
        endpoint_id=endpoint_id,
        verbs=verbs,
        once=str(_act(form)),
    )


def _page(asked: Asked, form: ConsentForm, status: int = 200) -> Response:
    form.act.data = str(once.new_act())
    view = consent_words.consent_view(asked, human(), names_one=_names_one())
    return form_page(
        "oauth/consent.html",
        form,
        status=status,
        heading=view.heading,
        help_topic="settings",
        view=view,
        action=request.full_path.rstrip("?"),
    )


def _act(form: ConsentForm) -> UUID:
    return parse_uuid(form.act.data or "") or once.new_act()


def _request() -> AuthorizeRequest:
    return read_request(request.args.items(multi=True), state().config.base_url)


def _names_one() -> bool:
    asked = _request()
    resource = parse_resource(asked.resource or "", asked.base_url)
    return resource is not None and resource.slug is not None


def _away(url: str) -> Response:
    """Lead to an app, by a redirect alone: no page of ours holds a link to it, or its code."""
    return make_response("", 303, {"Location": url})
