"""Every refusal, as a type; its docstring is the sentence a person sees unless told better."""

from __future__ import annotations

from typing import ClassVar

from app.domain.values import Json


class DomainError(Exception):
    """The request was refused."""

    code: ClassVar[str] = "invalid_argument"

    def __init__(self, sentence: str | None = None, *, field: str | None = None, **extras: Json):
        self.sentence = sentence or (type(self).__doc__ or "").split("\n", 1)[0]
        self.field = field
        self.extras: dict[str, Json] = extras
        super().__init__(self.sentence)


class InvalidArgument(DomainError):
    """A value in the request cannot be used."""


class TooLarge(DomainError):
    """The request body is too large."""


class UnsupportedMediaType(DomainError):
    """The request body must be JSON, sent as application/json."""


class InvalidAttemptInput(DomainError):
    """A value that describes the attempt cannot be used."""

    code = "invalid"


class Unauthenticated(DomainError):
    """A valid credential is required."""

    code = "unauthenticated"


class Forbidden(DomainError):
    """The grant does not allow this."""

    code = "forbidden"


class ForbiddenSourceType(DomainError):
    """The endpoint may not create webhooks of this source type."""

    code = "forbidden_source_type"


class EndpointSuspended(DomainError):
    """The endpoint's owner is suspended."""

    code = "endpoint_suspended"


class RouteOutOfScope(DomainError):
    """The route's target is outside the owner's reach."""

    code = "route_out_of_scope"


class ReferenceOutOfScope(DomainError):
    """The webhook's target is outside the owner's reach."""

    code = "reference_out_of_scope"


class RoleRequired(DomainError):
    """Your role in the team does not allow this."""

    code = "role_required"


class RoleCeiling(DomainError):
    """Nobody grants, changes or removes a role above their own."""

    code = "role_ceiling"


class LastOwner(DomainError):
    """The team would be left without an owner. Make somebody else owner first."""

    code = "last_owner"


class TeamCeilingReached(DomainError):
    """You are in as many teams as this server allows one person."""

    code = "team_ceiling_reached"


class GrantOutOfScope(DomainError):
    """The queue is outside the reach of the endpoint's owner."""

    code = "grant_out_of_scope"


class GroupNotHeld(DomainError):
    """Your last sign-in through the provider did not carry this group."""

    code = "group_not_held"


class NotFound(DomainError):
    """Not found."""

    code = "not_found"


class Conflict(DomainError):
    """The thing is not in a state that allows this."""

    code = "conflict"


class CeilingExceeded(DomainError):
    """The endpoint's ceiling is reached."""

    code = "ceiling_exceeded"


class Deferred(DomainError):
    """The queue's policy admits no claim."""

    code = "deferred"

    def __init__(
        self, sentence: str | None = None, *, retry_after: int | None = None, **extras: Json
    ):
        super().__init__(sentence)
        self.extras = extras
        # Seconds to an exact time only: whoever is told a hint would come back on it (R32).
        self.retry_after = retry_after


class RateLimited(DomainError):
    """Too many requests; try again shortly."""

    code = "rate_limited"

    def __init__(self, sentence: str | None = None, *, retry_after: int = 1):
        super().__init__(sentence)
        self.retry_after = retry_after


class Unavailable(DomainError):
    """The server cannot answer now; nothing was changed. Try again shortly."""

    code = "unavailable"


class OutcomeUnknown(DomainError):
    """The outcome is unknown; ask again with your Idempotency-Key."""

    code = "internal"
