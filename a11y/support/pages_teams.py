"""The pages of teams: as their owner, admin or member sees them, and as the invited does."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

from playwright.sync_api import Page

from a11y.support.browser import Visit
from a11y.support.cases import Case, go, seen, sent
from a11y.support.site import Site
from tests.support.make import Team

_TEAM = "/teams/<slug>"
_NAME = "Blue team of the night shift"
_BELOW = f" in {_NAME}"


def blue(site: Site, role: str = "owner") -> Team:
    """A team of the site's person and three more, with queues, an invite, a group and a record."""
    make, team = site.make, site.make.team("blue-team")
    names = ("Ben", "Cleo \u05d0\u05d1", "Dora " + "d" * 60)
    ben, cleo, dora = (make.human(name) for name in names)
    make.run("update teams set display_name = %s where id = %s", _NAME, team.id)
    for human, as_ in ((site.human, role), (ben, "owner"), (cleo, "admin"), (dora, "member")):
        make.member(team, human, as_, source="oidc_group" if human is dora else "manual")
    inbox = make.team_queue(team, "inbox")
    make.policy(inbox, max_in_flight=2, human=ben)
    make.team_queue(team, "unused")
    for endpoint in (make.endpoint(ben, team, name="blue lane"), site.world.lane):
        make.grant(endpoint, inbox)
    make.todo(queue=inbox, title="Of the team")
    make.run("insert into team_group_links (id, team_id, group_name, role)"
             " values (%s, %s, 'night-operators', 'member')", uuid4(), team.id)
    make.run("insert into team_invites (id, team_id, email_lower, role, token_sha256, expires_at,"
             " created_by) values (%s, %s, 'eve@example.org', 'member',"
             " encode(sha256('the-token'), 'hex'), clock() + interval '7 days', %s)",
             uuid4(), team.id, ben.id)
    make.run("insert into operator_audit (team_id, actor_human_id, action, detail) values"
             " (%s, %s, 'team_edited', '{\"slug\": [\"blue\", \"blue-team\"]}'),"
             " (%s, %s, 'member_removed', '{\"released\": 2}')",
             team.id, ben.id, team.id, cleo.id)
    return team


def _at(
    name: str, heading: str | re.Pattern[str], below: str = "", rule: str = "", *,
    role: str = "owner", press: str = "", status: int = 200, **typed: str,
) -> Case:
    """A page below the team's; with `press`, what the form on it answers."""
    def reach(visit: Visit, site: Site) -> Page:
        page = go(visit, site, f"/teams/{blue(site, role).slug}{_filled(site, below)}")
        for control, text in typed.items():
            page.locator(f"#{control}").fill(text)
        if press:
            page.get_by_role("button", name=press).click()
        return page

    return Case(name=name, heading=heading, rule=f"{_TEAM}{rule or below}", status=status,
                reach=reach)


def _filled(site: Site, below: str) -> str:
    ids: dict[str, Callable[[], object]] = {
        "{member}": lambda: site.make.value("select id from humans where display_name = 'Ben'"),
        "{me}": lambda: site.human.id,
        "{invite}": lambda: site.make.value("select id from team_invites"),
        "{link}": lambda: site.make.value("select id from team_group_links"),
        "{queue}": lambda: site.make.value(
            "select id from queues where name = 'inbox' and team_id is not null"),
    }
    for mark, found in ids.items():
        if mark in below:
            return below.replace(mark, str(found()))
    return below


def _listed(visit: Visit, site: Site) -> Page:
    blue(site)
    site.make.member(site.make.team("another"), site.human)
    return go(visit, site, "/teams")


def _grouped(visit: Visit, site: Site) -> Page:
    blue(site)
    site.make.run("update humans set oidc_groups = '{night-operators,day-operators}'")
    return go(visit, site, "/teams/blue-team/groups")


def _alone(visit: Visit, site: Site) -> Page:
    site.make.member(site.make.team("alone"), site.human, "owner")
    return go(visit, site, "/teams/alone/leave")


def _nobody(visit: Visit, site: Site) -> Page:
    site.make.member(site.make.team("alone"), site.human, "owner")
    return go(visit, site, "/teams/alone/transfer")


def _bare(visit: Visit, site: Site) -> Page:
    site.make.member(site.make.team("alone"), site.human, "owner")
    return go(visit, site, "/teams/alone")


def _above(visit: Visit, site: Site) -> Page:
    blue(site, "admin")
    return go(visit, site, _filled(site, "/teams/blue-team/members/{member}"))


def _offered(visit: Visit, site: Site) -> Page:
    blue(site)
    return go(visit, site, "/invites/the-token")


def _signed_out(visit: Visit, site: Site) -> Page:
    blue(site)
    return visit.open("/invites/the-token")


def _joined(visit: Visit, site: Site) -> Page:
    page = _offered(visit, site)
    page.locator("#accept").click()
    return page


TEAMS = [
    seen("teams, none", "Teams", "/teams"),
    Case(name="teams", heading="Teams", reach=_listed, rule="/teams"),
    seen("team, new", "Create a team", "/teams/new"),
    sent("team, wrong slug", "Create a team", "/teams/new", "/teams/new", "Create the team",
         status=422, display_name="The Night", slug="The Night"),
    sent("team, created", "The Night", _TEAM, "/teams/new", "Create the team",
         display_name="The Night", slug="the-night"),
    _at("team, as owner", _NAME),
    _at("team, as member", _NAME, role="member"),
    Case(name="team, bare", heading="alone", reach=_bare, rule=_TEAM),
    _at("team, edit", f"Edit {_NAME}", "/edit"),
    _at("team, edit as admin", f"Edit {_NAME}", "/edit", role="admin"),
    _at("team, edited wrongly", f"Edit {_NAME}", "/edit", press="Save the team", status=422,
        display_name="", slug="-"),
    _at("team, leave", f"Leave {_NAME}", "/leave"),
    Case(name="team, only owner", heading="Leave alone", reach=_alone, rule=f"{_TEAM}/leave"),
    _at("team, transfer", f"Transfer {_NAME}", "/transfer"),
    Case(name="team, transfer to nobody", heading="Transfer alone", reach=_nobody,
         rule=f"{_TEAM}/transfer"),
    _at("team, delete", f"Delete {_NAME}", "/delete"),
    _at("team, not deleted", f"Delete {_NAME}", "/delete", press="Delete", status=409),
    _at("team, role", f"Change role of Ben{_BELOW}", "/members/{member}",
        "/members/<human_id>"),
    Case(name="team, role above", heading="Not allowed", reach=_above, status=403,
         rule=f"{_TEAM}/members/<human_id>"),
    _at("team, remove member", f"Remove Ben from {_NAME}", "/members/{member}/remove",
        "/members/<human_id>/remove"),
    _at("team, invites", f"Invites to {_NAME}", "/invites"),
    _at("team, wrong invite", f"Invites to {_NAME}", "/invites", press="Make the invite link",
        status=422, email=" "),
    _at("team, invited", f"Invite to {_NAME} for eve@example.org", "/invites",
        press="Make the invite link", email="eve@example.org"),
    _at("team, revoke invite", "Revoke the invite for eve@example.org",
        "/invites/{invite}/revoke", "/invites/<invite_id>/revoke"),
    _at("team, groups", f"Groups of {_NAME}", "/groups"),
    Case(name="team, groups held", heading=f"Groups of {_NAME}", reach=_grouped,
         rule=f"{_TEAM}/groups"),
    _at("team, unlink group", f"Unlink group night-operators from {_NAME}",
        "/groups/{link}/remove", "/groups/<link_id>/remove"),
    _at("team, wrong queue", _NAME, "", "/queues", press="Create the queue", status=422),
    _at("team, delete queue", "Delete queue team:blue-team/inbox", "/queues/{queue}/delete",
        "/queues/<queue_id>/delete"),
    _at("team, queue not deleted", "Delete queue team:blue-team/inbox", "/queues/{queue}/delete",
        "/queues/<queue_id>/delete", press="Delete queue", status=409),
    Case(name="invite", heading=f"Invite to {_NAME}", reach=_offered, rule="/invites/<token>"),
    Case(name="invite, signed out", heading=f"Invite to {_NAME}", reach=_signed_out,
         rule="/invites/<token>"),
    Case(name="invite, accepted", heading=_NAME, reach=_joined, rule=_TEAM),
    seen("invite, over", "Invite not valid", "/invites/<token>", "/invites/nothing", status=404),
]
