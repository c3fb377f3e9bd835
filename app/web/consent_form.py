"""The form of the consent page: which endpoint and which verbs; none that changes limits is ticked.

The verbs are the fields of the vend wizard: same families, same words, same warning (REQ-10).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from wtforms import HiddenField, RadioField, SelectChoice, SelectMultipleField

from app.domain.errors import InvalidArgument
from app.domain.isolating import isolate
from app.domain.verbs import ADMISSION
from app.transactions.oauth import Asked, EndpointChoice
from app.web.vend_forms import VerbsForm

_OPERATOR = "operator"


class ConsentForm(VerbsForm):
    """What the person decides. `kind` says only how to show the form again; what the app asks for
    is read from its request at every post. `act` names the form, so that it counts once.
    `decision` is the button that was pressed; no page sends it but by a button.
    """

    decision = HiddenField()
    kind = HiddenField()
    act = HiddenField()
    endpoint = RadioField("Endpoint", choices=[], validate_choice=False)

    def put(self, asked: Asked, *, names_one: bool) -> None:
        """Fill in what there is to choose: the endpoints, none of them chosen beforehand (no field
        when the app's request names one), and the verbs that one of them could give. Those that
        change limits are always shown, also where no endpoint has them and no app asked: a person
        must read what they would mean (REQ-10).
        """
        self.kind.data = asked.kind
        given = {verb for each in asked.endpoints for verb in each.verbs}
        for family in self.families():
            family.choices = [choice for choice in family.choices if choice.value in given]
        self.endpoint.choices = [
            SelectChoice(value=str(each.id), label=_label(each))
            for each in asked.endpoints
            if not names_one
        ]
        if names_one:
            self.endpoint.data = str(asked.endpoints[0].id)

    def suggest(self, asked: Asked) -> None:
        """Tick what the app asked for; never a verb of `limits`, whatever was asked (REQ-10)."""
        ticked = {verb for each in asked.endpoints for verb in each.ticked}
        for family in self.families():
            family.data = [verb for verb in _values(family) if verb in ticked]

    def asks_verbs(self) -> bool:
        """Whether there are verbs to choose: an app that acts as the person has them all."""
        return bool(self.kind.data != _OPERATOR)

    def shown_families(self) -> list[SelectMultipleField]:
        """The families with at least one verb to choose."""
        return [family for family in self.families() if family.choices]

    def chosen(self, choices: Sequence[EndpointChoice]) -> tuple[str, tuple[str, ...]]:
        """The endpoint's id as text, and the verbs ticked that it was vended with.

        Raises InvalidArgument on a field of the form: no endpoint chosen, nothing ticked, or a
        verb that changes limits for an endpoint vended without it, whose scope never changes.
        """
        offer = next((each for each in choices if str(each.id) == self.endpoint.data), None)
        if offer is None:
            raise InvalidArgument("Choose the endpoint it may work as.", field="endpoint")
        ticked = self._ticked()
        _refuse_beyond(offer, ticked)
        return str(offer.id), tuple(verb for verb in ticked if verb in offer.verbs)

    def _ticked(self) -> list[str]:
        verbs = self.changes()["verbs"]
        return [str(verb) for verb in verbs] if isinstance(verbs, list) else []


def _refuse_beyond(offer: EndpointChoice, verbs: Collection[str]) -> None:
    beyond = [verb for verb in verbs if verb in ADMISSION and verb not in offer.verbs]
    if beyond:
        raise InvalidArgument(
            f"{isolate(offer.slug)} was vended without {' and '.join(beyond)}, and its scope never"
            " changes. To let an agent change its limits, vend another endpoint with these verbs.",
            field="limits",
        )
    if not set(verbs) & set(offer.verbs):
        raise InvalidArgument(
            f"{isolate(offer.slug)} was vended with none of these verbs, and its scope never"
            " changes. Choose others, or another endpoint.",
            field="endpoint",
        )


def _label(offer: EndpointChoice) -> str:
    has_limits = not set(ADMISSION).isdisjoint(offer.verbs)
    owner = "" if offer.team is None else f" of team {offer.team}"
    return (
        f"{isolate(offer.slug)}{owner} (agent {isolate(offer.agent_name)}), vended"
        f" {'with' if has_limits else 'without'} verbs that change limits"
    )


def _values(family: SelectMultipleField) -> list[str]:
    return [str(choice.value) for choice in family.choices]
