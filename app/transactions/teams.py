"""Teams: created, renamed, left, handed over, deleted (operator-api.md, "Teams")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.db import minting
from app.db.database import Connection, Database, run, value
from app.db.statements import load
from app.domain.callers import Human
from app.domain.errors import Conflict, InvalidArgument, LastOwner
from app.domain.references import parse_uuid
from app.domain.teams import check_slug
from app.domain.tokens import check_name
from app.domain.values import Json
from app.reads.teams import TeamRow
from app.transactions import membership, team_changes

SQL = load("teams")

_TAKEN = "slug: another team has it, or had it less than 30 days ago."
_BUSY = "The team still has an active endpoint or a todo that is not finished."


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamChange:
    """What to change of a team; None leaves a thing as it is."""

    slug: str | None = None
    display_name: str | None = None
    members_create_webhooks: bool | None = None

    @property
    def role(self) -> str:
        """Who may: an admin says whether members create webhooks, an owner all."""
        is_named = self.slug is not None or self.display_name is not None
        return "owner" if is_named else "admin"


def create(db: Database, human: Human, slug: str, display_name: str | None) -> TeamRow:
    """Make a team with the human as its owner; without a name it goes by its slug.

    Raises InvalidArgument naming the field, Conflict on `slug` for one that is taken or retired,
    TeamCeilingReached, Unavailable. Exact beside other creates, renames and accepts.
    """
    team = TeamRow(
        id=minting.new_id(),
        slug=check_slug(slug),
        display_name=slug if display_name is None else check_name(display_name, "display_name"),
        role="owner",
        members_create_webhooks=False,
        is_suspended=False,
    )
    with db.transaction() as conn:
        team_changes.require_place(db, conn, human)
        _take_slug(conn, team.slug)
        params = {
            "id": team.id,
            "slug": team.slug,
            "display_name": team.display_name,
            "human_id": human.id,
        }
        run(conn, SQL["insert_team"], params)
        team_changes.put_member(conn, team.id, human.id, "owner")
        team_changes.audit(conn, team.id, human.id, "team_created", slug=team.slug)
    team_changes.note("team_created", team.id, human.id)
    return team


def edit(db: Database, human: Human, ref: str, change: TeamChange) -> TeamRow:
    """Rename a team or change what its members may; a slug that is given up rests for 30 days.

    Raises NotFound, RoleRequired, InvalidArgument naming the field, Conflict on `slug`.
    """
    slug = None if change.slug is None else check_slug(change.slug)
    name = change.display_name
    name = None if name is None else check_name(name, "display_name")
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, change.role)
        if slug is not None and slug != team.slug:
            _take_slug(conn, slug, team.slug)
            run(conn, SQL["upsert_retired_slug"], {"slug": team.slug})
        params = {
            "team_id": team.id,
            "slug": slug,
            "display_name": name,
            "members_create_webhooks": change.members_create_webhooks,
        }
        run(conn, SQL["mark_edited"], params)
        edited = team_changes.lock(conn, human, str(team.id), "admin")
        differences = _differences(team, edited)
        if differences:
            team_changes.audit(conn, team.id, human.id, "team_edited", **differences)
    if differences:
        team_changes.note("team_edited", team.id, human.id, fields=" ".join(differences))
    return edited


def delete(db: Database, human: Human, ref: str) -> str:
    """Delete a team with its queues, finished work, grants and invites; its slug.

    The slug rests for 30 days. Raises NotFound, RoleRequired, Conflict while the team has an active
    endpoint or a live todo: neither can appear between the look and the end.
    """
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "owner")
        params = {"team_id": team.id}
        # Queues before the key of the team: a delivery takes its queue first, then its team.
        locked = conn.execute(SQL["lock_queues"], params).fetchall()
        value(conn, SQL["lock_team_key"], params)
        if value(conn, SQL["count_queues"], params) != len(locked):
            raise Conflict("The team was given a queue just now. Try again.")
        if value(conn, SQL["read_is_busy"], params):
            raise Conflict(_BUSY)
        value(conn, SQL["lock_slugs"], {"slugs": [team.slug]})
        run(conn, SQL["upsert_retired_slug"], {"slug": team.slug})
        team_changes.audit(conn, team.id, human.id, "team_deleted", slug=team.slug)
        run(conn, SQL["delete_team"], params)
    db.feed.changed(*(row[0] for row in locked))
    team_changes.note("team_deleted", team.id, human.id)
    return team.slug


def leave(db: Database, human: Human, ref: str) -> str:
    """Give one's membership up, whatever it comes from, and every lease of the team; its slug.

    A group of the sign-in provider brings it back at the next sign-in. Raises NotFound, LastOwner.
    """
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "member")
        if team.role == "owner" and not team_changes.has_other_owner(conn, team.id, human.id):
            raise LastOwner
        lost = membership.remove_entirely(conn, team.id, human.id)
        team_changes.audit(
            conn, team.id, human.id, "member_left", released=len(lost.released)
        )  # fmt: skip
    membership.announce(db, lost)
    team_changes.note("member_left", team.id, human.id)
    return team.slug


def transfer(db: Database, human: Human, ref: str, human_id: str) -> TeamRow:
    """Make a member owner and oneself admin, at one stroke; the team as the human sees it now.

    Raises NotFound also for who is no member, RoleRequired, InvalidArgument on `human_id` for
    oneself, LastOwner when the member is suspended and so could not run the team.
    """
    with db.transaction() as conn:
        team = team_changes.lock(conn, human, ref, "owner")
        heir = team_changes.member(conn, team.id, parse_uuid(human_id))
        if heir.human_id == human.id:
            raise InvalidArgument("human_id: you are the owner already.", field="human_id")
        team_changes.put_member(conn, team.id, heir.human_id, "owner")
        if not team_changes.has_other_owner(conn, team.id, human.id):
            raise LastOwner("That person is suspended. Choose somebody else.")
        team_changes.put_member(conn, team.id, human.id, "admin")
        team_changes.audit(
            conn, team.id, human.id, "team_transferred", human_id=str(heir.human_id)
        )  # fmt: skip
        seen = team_changes.lock(conn, human, str(team.id), "admin")
    team_changes.note("team_transferred", team.id, human.id, to=heir.human_id)
    return seen


def _take_slug(conn: Connection, slug: str, *others: str) -> None:
    """Hold the slugs, in one order for everybody, until the commit; Conflict unless it is free."""
    value(conn, SQL["lock_slugs"], {"slugs": sorted({slug, *others})})
    if not value(conn, SQL["read_slug_is_free"], {"slug": slug}):
        raise Conflict(_TAKEN, field="slug")


def _differences(before: TeamRow, after: TeamRow) -> dict[str, Json]:
    pairs: Sequence[tuple[str, str | bool, str | bool]] = (
        ("slug", before.slug, after.slug),
        ("display_name", before.display_name, after.display_name),
        (
            "members_create_webhooks",
            before.members_create_webhooks,
            after.members_create_webhooks,
        ),
    )
    return {name: [old, new] for name, old, new in pairs if old != new}
