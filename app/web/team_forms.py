"""The forms of teams: making and naming one, its members, invites, groups and queues."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import token_urlsafe

from wtforms import BooleanField, HiddenField, SelectChoice, SelectField, StringField

from app.domain.isolating import isolate
from app.domain.teams import LINK_ROLES, ROLES, may_grant
from app.reads.teams import MemberRow
from app.web import team_words
from app.web.forms import Form


class TeamForm(Form):
    """A form about one team; `team` is its id, under which a form that arrives twice is known when
    the first has changed the team's slug, or ended that the viewer is in it.
    """

    team = HiddenField()

    def ref(self, slug: str) -> str:
        """The team that the form was opened for; `slug` where it does not say."""
        return self.team.data or slug


class NewForm(Form):
    """A team to make (operator-api.md, POST /teams)."""

    display_name = StringField("Name of the team")
    slug = StringField("Slug")


class EditForm(TeamForm):
    """What an owner names, and what an admin may switch (operator-api.md, PATCH /teams)."""

    display_name = StringField("Name of the team")
    slug = StringField("Slug")
    members_create_webhooks = BooleanField(
        "Members may make webhooks that deliver to the team's queues"
    )
    names_it = False

    @property
    def has_names(self) -> bool:
        """Whether name and slug are asked for: of an owner, and where they were posted."""
        return self.names_it or bool(self.slug.raw_data)


class RoleForm(Form):
    """The role a member is to have."""

    role = SelectField("Role", validate_choice=False)

    def offer(self, own: str) -> None:
        """The roles that somebody with the role `own` may give."""
        self.role.choices = role_choices(own)


class InviteForm(Form):
    """Whom to invite; `once` names this opened form, so that it mints one link."""

    email = StringField("E-mail")
    role = SelectField("Role", validate_choice=False)
    once = HiddenField(default=lambda: token_urlsafe(16))

    def offer(self, own: str) -> None:
        """The roles that somebody with the role `own` may give."""
        self.role.choices = role_choices(own)


class GroupForm(Form):
    """A group of the sign-in provider, and the role its people get."""

    group = SelectField("Group", validate_choice=False)
    role = SelectField("Role", validate_choice=False)

    def offer(self, groups: Sequence[str]) -> None:
        """The groups the person's own last sign-in carried."""
        self.group.choices = [SelectChoice(value=name, label=name) for name in groups]
        self.role.choices = [_role(role) for role in LINK_ROLES]


class QueueForm(Form):
    """A queue the team is to have."""

    name = StringField("Name of the queue", id="queue-name")


class TransferForm(TeamForm):
    """Who becomes owner in the viewer's place."""

    human_id = SelectField("New owner", validate_choice=False)

    def offer(self, members: Sequence[MemberRow]) -> None:
        """Those who could."""
        self.human_id.choices = [
            SelectChoice(value=str(row.human_id), label=f"{isolate(row.display_name)} ({row.role})")
            for row in members
        ]


def role_choices(own: str) -> list[SelectChoice]:
    """The roles that somebody with the role `own` may give, the weakest first."""
    return [_role(role) for role in ROLES if may_grant(own, role)]


def _role(role: str) -> SelectChoice:
    return SelectChoice(value=role, label=f"{role}: {team_words.short(role)}")
