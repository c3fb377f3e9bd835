"""The wizard's first step: whom the endpoint is for, and who owns it; and what any step is."""

from __future__ import annotations

from wtforms import RadioField, SelectChoice, StringField

from app.domain.errors import InvalidArgument
from app.domain.tokens import check_name
from app.domain.values import Json
from app.domain.vend_answers import VendAnswers
from app.edge.deps import database, human
from app.reads import team_choices
from app.web import vend_words
from app.web.forms import Form

# No team is called so: a slug has three characters or more.
OWN = "me"


class StepForm(Form):
    """One step's question: how a draft fills it, and what it answers."""

    def fill(self, answers: VendAnswers) -> None:
        """Show what the draft holds already; nothing of a step not answered yet."""
        raise NotImplementedError

    def changes(self) -> dict[str, Json]:
        """The answer as fields of VendAnswers; InvalidArgument whose field is one of the form."""
        raise NotImplementedError

    def offer(self) -> None:
        """Fill the choices that are the person's own; most steps have none."""


class AgentForm(StepForm):
    """Step 1: whom the endpoint is for and who owns it: the person or a team they administer."""

    name = StringField("Agent name")
    owner = RadioField("Owner", validate_choice=False)

    def offer(self) -> None:
        """The person, and the teams for which they may vend (operator-api.md, POST /endpoints)."""
        self.owner.choices = [
            SelectChoice(value=OWN, label="You"),
            *(
                SelectChoice(value=slug, label=vend_words.owner(slug))
                for slug in team_choices.administered(database(), human())
            ),
        ]

    @property
    def has_teams(self) -> bool:
        """Whether there is anything to choose."""
        return any(choice.value != OWN for choice in self.owner.choices or [])

    def fill(self, answers: VendAnswers) -> None:
        """The name as it was typed, and the owner chosen; the person until then."""
        self.name.data = answers.name
        self.owner.data = answers.team or OWN

    def changes(self) -> dict[str, Json]:
        """A trimmed name of 1 to 100 characters, and the team's slug or None."""
        text, owner = self.name.data or "", self.owner.data or OWN
        if not text.strip():
            raise InvalidArgument("Enter a name for the agent, such as lane m.", field="name")
        if owner not in [choice.value for choice in self.owner.choices]:
            raise InvalidArgument(
                "Choose yourself, or a team of which you are an admin or owner.", field="owner"
            )
        return {"name": check_name(text), "team": None if owner == OWN else owner}
