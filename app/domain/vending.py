"""What a human may ask for when vending an endpoint, and what of it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.domain.errors import InvalidArgument
from app.domain.lifetimes import check_default_lease, parse_lifetime
from app.domain.queues import check_queue_name
from app.domain.signatures import Source
from app.domain.tokens import check_name
from app.domain.verbs import BASICS, check_verbs

DEFAULT_QUEUES = ("inbox",)


@dataclass(frozen=True, slots=True, kw_only=True)
class VendRequest:
    """An endpoint as asked for; `team` is a slug, `lifetime` a text such as `7d`."""

    name: str
    queues: tuple[str, ...] = DEFAULT_QUEUES
    verbs: tuple[str, ...] = BASICS
    lifetime: str | None = None
    default_lease_ttl_seconds: int | None = None
    webhook_source_type: str = Source.GENERIC
    team: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The immutable scope of an endpoint about to be made."""

    name: str
    queues: tuple[str, ...]
    verbs: tuple[str, ...]
    lifetime: timedelta | None
    default_lease_ttl_seconds: int | None
    source: Source


def check_vend(request: VendRequest) -> Grant:
    """The grant a request asks for, or InvalidArgument naming the first wrong field.

    (contract/operator-api.md, "POST /endpoints")
    """
    lifetime = request.lifetime
    return Grant(
        name=check_name(request.name),
        queues=_check_queues(request.queues),
        verbs=check_verbs(request.verbs),
        lifetime=None if lifetime is None else parse_lifetime(lifetime),
        default_lease_ttl_seconds=check_default_lease(request.default_lease_ttl_seconds),
        source=parse_source(request.webhook_source_type, "webhook_source_type"),
    )


def parse_source(text: str, field: str = "source_type") -> Source:
    """The source type of that name, or InvalidArgument on `field`."""
    try:
        return Source(text)
    except ValueError:
        known = ", ".join(Source)
        raise InvalidArgument(f"{field}: one of {known}.", field=field) from None


def _check_queues(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        raise InvalidArgument("queues: name at least one, or leave it out.", field="queues")
    checked = tuple(check_queue_name(name, field="queues") for name in names)
    if len(set(checked)) != len(checked):
        raise InvalidArgument("queues: a queue is named twice.", field="queues")
    return checked
