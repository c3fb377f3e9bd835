"""Queue names: which are allowed, which are reserved, and how a team's queue is written."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from uuid import UUID

from app.domain.errors import InvalidArgument

RESERVED = "quarantine"
TEAM_PREFIX = "team:"
LONGEST_NAME_BYTES = 255


@dataclass(frozen=True, slots=True)
class TeamQueue:
    """A team's queue as callers write it: team:<slug>/<name>."""

    slug: str
    name: str

    def __str__(self) -> str:
        return f"{TEAM_PREFIX}{self.slug}/{self.name}"


@dataclass(frozen=True, slots=True)
class QueueAddress:
    """A queue as whoever configures it names it (operator-api.md, "Admission routes").

    `scope` is endpoint:<slug-or-id> or team:<slug-or-id>, `queue` the bare name in it. Any text is
    an address; one that no queue has names nothing.
    """

    scope: str
    queue: str


def address_of(endpoint_id: UUID, name: str) -> QueueAddress:
    """What an endpoint means by a name: its own queue, or team:<slug>/<name> (R50)."""
    if not name.startswith(TEAM_PREFIX):
        return QueueAddress(f"endpoint:{endpoint_id}", name)
    team, _, rest = name.partition("/")
    return QueueAddress(team, rest)


def refuse_reserved(name: str, *, field: str) -> None:
    """Raise InvalidArgument for the reserved name, which can have no policy (R34)."""
    if name == RESERVED:
        raise InvalidArgument(f"{field}: the queue name {RESERVED} is reserved.", field=field)


def is_queue_name(name: str) -> bool:
    """Say whether a queue may bear the name, so that no other text reaches the database."""
    return _fault(name) is None


def check_queue_name(name: str, *, field: str) -> str:
    """Return the name when a queue may bear it; raise InvalidArgument naming `field` otherwise.

    1 to 255 bytes of UTF-8 without control characters; no `team:` prefix, no empty, `.` or
    `..` segment; not the reserved name (contract README, "Conventions").
    """
    wrong = _fault(name)
    if wrong:
        raise InvalidArgument(f"{field}: {wrong}", field=field)
    return name


def parse_team_queue(name: str) -> TeamQueue | None:
    """Read `team:<slug>/<name>`; None when the name is not of that form."""
    if not name.startswith(TEAM_PREFIX):
        return None
    slug, slash, rest = name[len(TEAM_PREFIX) :].partition("/")
    if not slash or not slug or _fault(rest):
        return None
    return TeamQueue(slug, rest)


def _fault(name: str) -> str | None:
    if not name.strip():
        return "a queue name must not be blank."
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "a queue name must be valid text."
    if size > LONGEST_NAME_BYTES:
        return "a queue name is at most 255 bytes of UTF-8."
    if any(unicodedata.category(character) == "Cc" for character in name):
        return "a queue name must not contain control characters."
    if name == RESERVED:
        return f"the queue name {RESERVED} is reserved."
    if name.startswith(TEAM_PREFIX):
        return "a queue name must not start with team:."
    if any(segment in ("", ".", "..") for segment in name.split("/")):
        return "a queue name must not start or end with /, contain //, or have a . or .. segment."
    return None
