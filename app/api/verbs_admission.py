"""The admission verbs: read one's budget, and by special grant change it (agent-api.md)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue, WithJsonSchema

from app.api import admission_shapes as shapes
from app.api.arguments import Arguments, Text
from app.api.verb import Body, Call, verb
from app.domain.policy import LONGEST_REASON, MOST_CLAIMS_PER_WINDOW, MOST_IN_FLIGHT
from app.domain.queues import address_of
from app.domain.windows import PERIODS, WEEKDAYS
from app.edge.deps import database
from app.reads import admission
from app.transactions import policies, write_limit

QUEUE = "A granted queue: a bare name is the endpoint's own, team:<slug>/<name> a team's."

_WINDOW: dict[str, JsonValue] = {
    "type": ["object", "null"],
    "properties": {
        "period": {"enum": [*PERIODS]},
        "tz": {"type": "string", "description": "An IANA zone, such as America/Los_Angeles."},
        "start": {"type": "string", "description": "HH:MM on the zone's wall clock."},
        "weekday": {"enum": [*WEEKDAYS], "description": "For a week, and for nothing else."},
    },
    "required": ["period", "tz", "start"],
    "additionalProperties": False,
}
_POLICY: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "max_in_flight": {
            "type": ["integer", "null"], "minimum": 0, "maximum": MOST_IN_FLIGHT,
            "description": "Todos claimed at once; 0 pauses the queue.",
        },
        "max_claims_per_window": {
            "type": ["integer", "null"], "minimum": 0, "maximum": MOST_CLAIMS_PER_WINDOW,
            "description": "Claims in one window, which must be given too; 0 pauses the queue.",
        },
        "window": _WINDOW,
    },
    "additionalProperties": False,
}
_REASON: dict[str, JsonValue] = {"type": ["string", "null"], "maxLength": LONGEST_REASON}

# Both are judged by the verb, after it has asked whether the caller may manage the queue: judged
# here, a 400 would come before that 404 (R57).
PolicyBody = Annotated[JsonValue, WithJsonSchema({**_POLICY})]
Reason = Annotated[JsonValue, WithJsonSchema({**_REASON})]


class AdmissionStatus(Arguments):
    """Arguments of admission_status."""

    queue: Text | None = Field(default=None, description=QUEUE + " Absent: every granted queue.")


class ClearPolicy(Arguments):
    """Arguments of clear_admission_policy, and what both writes take."""

    queue: Text = Field(description=QUEUE)
    reason: Reason = Field(default=None, description="Why, for the owner's record.")


class SetPolicy(ClearPolicy):
    """Arguments of set_admission_policy."""

    policy: PolicyBody = Field(
        description="The whole policy: what it leaves out is taken away. One limit at least."
    )


def _status(call: Call, asked: AdmissionStatus) -> Body:
    found = admission.for_endpoint(database(), call.endpoint, asked.queue)
    return {"queues": [shapes.granted_queue(each) for each in found]}


def _set(call: Call, asked: SetPolicy) -> Body:
    write_limit.take(database(), call.endpoint)
    address = address_of(call.endpoint.id, asked.queue)
    saved = policies.save(
        database(), call.endpoint, address, asked.policy, reason=asked.reason
    )
    return shapes.set_policy(asked.queue, saved)


def _clear(call: Call, asked: ClearPolicy) -> Body:
    write_limit.take(database(), call.endpoint)
    address = address_of(call.endpoint.id, asked.queue)
    cleared = policies.clear(database(), call.endpoint, address, reason=asked.reason)
    return {"queue": asked.queue, "cleared": cleared}


VERBS = (
    verb("admission_status", AdmissionStatus, _status, family="drain", read_only=True,
         description="Say for each granted queue whether it admits a claim now, why not, and what "
                     "is left of its budget."),
    verb("set_admission_policy", SetPolicy, _set, family="admission",
         description="Replace the budget of a queue you may configure."),
    verb("clear_admission_policy", ClearPolicy, _clear, family="admission",
         description="Take the budget of a queue you may configure away."),
)
