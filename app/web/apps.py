"""Connected apps: what a person let act for them, and how they end it."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from app.domain.errors import NotFound
from app.domain.isolating import isolate
from app.domain.verbs import ADMISSION
from app.edge.deps import database, human
from app.edge.identify import identify_session
from app.reads import oauth_grants
from app.reads.oauth_grants import HeldGrant
from app.transactions import oauth_grants as ending
from app.web import guard, present
from app.web.answers import see, viewer
from app.web.forms import acts
from app.web.present import Instant

_HELP = "settings"

bp = Blueprint("apps", __name__)
bp.before_request(identify_session)
bp.before_request(guard.check_form)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppLine:
    """One grant; `acts_as` is the endpoint or the person, `warning` says that it may change
    limits, or is empty.
    """

    id: str
    name: str
    acts_as: str
    verbs: str
    warning: str
    allowed_by: str
    since: Instant | None
    used: Instant | None
    ends: Instant | None


@bp.get("/settings/apps")
def show_apps() -> ResponseReturnValue:
    """Every app that may act for the person now, newest first."""
    held = oauth_grants.held(database(), human())
    return render_template(
        "oauth/apps.html",
        heading="Connected apps",
        help_topic=_HELP,
        lines=[_line(grant) for grant in held],
        more=held[0].in_all - len(held) if held else 0,
    )


@bp.get("/settings/apps/<grant_id>/revoke")
def confirm_revoke(grant_id: str) -> ResponseReturnValue:
    """Say what revoking ends, before it does."""
    line = _held(grant_id)
    return render_template(
        "oauth/revoke.html",
        heading=f"Disconnect {isolate(line.name)}",
        help_topic=_HELP,
        line=line,
    )


@bp.post("/settings/apps/<grant_id>/revoke")
@acts("Disconnect the app")
def revoke(grant_id: str) -> ResponseReturnValue:
    """End a grant with all its tokens, at once in every process; sent twice, it is ended."""
    try:
        name = _held(grant_id).name
        ending.revoke(database(), human(), grant_id)
        said = f"{isolate(name)} is disconnected. It can do nothing more."
    except NotFound:
        if not oauth_grants.is_ended(database(), human(), grant_id):
            raise
        said = "That app is not connected any more."
    return see("/settings/apps", flash=said, fragment="apps")


def _held(grant_id: str) -> AppLine:
    return _line(oauth_grants.held_grant(database(), human(), grant_id))


def _line(grant: HeldGrant) -> AppLine:
    zone = viewer().zone
    limits = [verb for verb in grant.verbs if verb in ADMISSION]
    is_agent = grant.endpoint_slug is not None
    return AppLine(
        id=str(grant.grant_id),
        name=grant.client_name,
        acts_as=f"endpoint {isolate(grant.endpoint_slug or '')}" if is_agent else "you",
        verbs=", ".join(grant.verbs) if is_agent else "everything you may do",
        warning=f"{' and '.join(limits)} let it change its own budget." if limits else "",
        allowed_by=grant.granted_by or "somebody who is gone",
        since=present.instant(grant.created_at, zone),
        used=present.instant(grant.last_used_at, zone),
        ends=present.instant(grant.expires_at, zone),
    )
