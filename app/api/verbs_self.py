"""What an endpoint may ask and set about itself: whoami and its default lease (agent-api.md)."""

from __future__ import annotations

from pydantic import Field

from app.api import shapes
from app.api.arguments import Arguments
from app.api.verb import Body, Call, verb
from app.edge.deps import database
from app.reads import presence, reach
from app.transactions import endpoints


class SetDefaultLease(Arguments):
    """Arguments of set_default_lease."""

    default_lease_ttl_seconds: int | None = Field(
        description="60 to 86400 seconds for claims and heartbeats that name none; null clears it."
    )


def _whoami(call: Call, asked: Arguments) -> Body:
    queues = reach.queues_of(database(), call.endpoint)
    is_in = presence.is_in(database(), call.endpoint)
    return shapes.whoami(call.endpoint, queues, is_in=is_in)


def _get_default_lease(call: Call, asked: Arguments) -> Body:
    return shapes.default_lease(call.endpoint.default_lease_ttl_seconds)


def _set_default_lease(call: Call, asked: SetDefaultLease) -> Body:
    seconds = endpoints.set_default_lease(
        database(), call.endpoint, asked.default_lease_ttl_seconds
    )
    return shapes.default_lease(seconds)


VERBS = (
    verb("whoami", Arguments, _whoami, family="self", read_only=True,
         description="Say which endpoint this credential is and what it may do."),
    verb("get_default_lease", Arguments, _get_default_lease, family="lease", read_only=True,
         description="Read the lease that claims and heartbeats get when they name none."),
    verb("set_default_lease", SetDefaultLease, _set_default_lease, family="lease",
         description="Set or clear the lease that claims and heartbeats get when they name none."),
)
