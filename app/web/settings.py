"""What a person sets for themselves: zone, theme, announcements, tokens, other devices."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, make_response, render_template, request
from flask.typing import ResponseReturnValue

from app.domain.errors import NotFound
from app.domain.isolating import isolate
from app.edge.deps import database, state
from app.edge.identify import identify_session, session_token
from app.reads import tokens
from app.reads.tokens import HeldToken
from app.transactions import people, preferences
from app.web import answers, guard, present
from app.web.forms import acts, posts
from app.web.present import Instant
from app.web.settings_forms import OnceForm, PreferencesForm, TokenForm

bp = Blueprint("settings", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLine:
    """One row of the table of operator tokens."""

    id: str
    name: str
    created: Instant | None
    used: Instant | None


@bp.get("/settings")
def show() -> ResponseReturnValue:
    """Everything a person may set, and their operator tokens."""
    return _page(_preferences(), TokenForm())


@bp.post("/settings/preferences")
@posts(PreferencesForm, "settings/preferences.html", button="Save settings")
def save() -> ResponseReturnValue:
    """Save zone, theme and announcements; the next page has them."""
    form = PreferencesForm()
    if not form.validate():
        return _page(form, TokenForm(formdata=None), refused=form)
    preferences.save(
        database(),
        answers.viewer().human,
        zone=form.chosen_zone,
        theme=form.theme.data,
        announce=form.announce.data,
    )
    return answers.see("/settings", flash="Settings saved.", fragment="save-settings")


@bp.post("/settings/zone")
def offer_zone() -> ResponseReturnValue:
    """Take the browser's zone, as its script offers it, when the person has set none."""
    preferences.offer_zone(database(), session_token() or "", request.form.get("zone", ""))
    return make_response("", 204)


@bp.post("/settings/tokens")
@posts(TokenForm, button="Create operator token")
def mint_token() -> ResponseReturnValue:
    """Mint an operator token and show it, once, in the answer itself: it is kept nowhere."""
    form = TokenForm()
    if not form.validate():
        return _page(_preferences(), form, refused=form)
    human_id, once = answers.viewer().human.id, _once(form.once.data)
    minted = people.mint_operator_token(database(), human_id, form.name.data, once=once)
    return render_template(
        "settings/token.html",
        heading="Operator token created",
        help_topic="settings",
        name=form.name.data.strip(),
        token=minted,
        base_url=state().config.base_url,
    )


@bp.get("/settings/tokens/<token_id>/revoke")
def confirm_revoke(token_id: str) -> ResponseReturnValue:
    """Say what revoking ends, before it does."""
    line = _line(tokens.held_token(database(), answers.viewer().human, token_id))
    return render_template(
        "settings/revoke.html",
        heading=f"Revoke operator token {isolate(line.name)}",
        help_topic="settings",
        line=line,
    )


@bp.post("/settings/tokens/<token_id>/revoke")
@acts("Revoke the operator token")
def revoke(token_id: str) -> ResponseReturnValue:
    """Revoke one of the person's own tokens, at once in every process."""
    human = answers.viewer().human
    name = _line(tokens.held_token(database(), human, token_id)).name
    people.revoke_operator_token(database(), human, token_id)
    said = f"Operator token {isolate(name)} revoked. It opens nothing any more."
    return answers.see("/settings", flash=said, fragment="tokens")


@bp.post("/settings/device")
@posts(OnceForm, button="Make a sign-in link")
def link_device() -> ResponseReturnValue:
    """A one-time sign-in link for oneself, shown in the answer itself (identity.md). The same form
    sent again shows the same link; once that is spent, a fresh form must ask.
    """
    human_id, once = answers.viewer().human.id, _once(OnceForm().once.data)
    try:
        token = people.login_link(database(), human_id, once=once)
    except NotFound:
        said = "That link was used or has expired. Make another."
        return answers.see("/settings", flash=said, fragment="make-link")
    return render_template(
        "settings/device.html",
        heading="Sign in on another device",
        help_topic="settings",
        link=f"{state().config.base_url}/auth/link/{token}",
    )


def _once(typed: str | None) -> str | None:
    """The form's own name with the session's: what it made is never made again after it (E12)."""
    return f"{answers.viewer().token_hash} {typed}" if typed else None


def _page(
    form: PreferencesForm, token_form: TokenForm, refused: PreferencesForm | TokenForm | None = None
) -> ResponseReturnValue:
    held = tokens.held(database(), answers.viewer().human)
    return answers.form_page(
        "settings/settings.html",
        form,
        status=200 if refused is None else 422,
        heading="Settings",
        help_topic="settings",
        token_form=token_form,
        device_form=OnceForm(formdata=None),
        refused=refused,
        lines=[_line(token) for token in held],
        more=held[0].in_all - len(held) if held else 0,
    )


def _preferences() -> PreferencesForm:
    viewer = answers.viewer()
    form = PreferencesForm(formdata=None)
    form.process(zone=viewer.zone, theme=viewer.theme, announce=viewer.announce)
    return form


def _line(token: HeldToken) -> TokenLine:
    zone = answers.viewer().zone
    return TokenLine(
        id=token.token_hash,
        name=token.name or "without a name",
        created=present.instant(token.created_at, zone),
        used=present.instant(token.last_used_at, zone),
    )
