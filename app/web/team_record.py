"""The record of a team in words: when, who, and what changed (accessibility.md 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from app.domain.isolating import isolate
from app.domain.values import Json
from app.reads.teams import AuditRow
from app.web.present import Instant, instant

_GONE = "a person who has left"
_FIELDS = {"slug": "slug", "display_name": "name"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLine:
    """One change; the names of people are those they have now."""

    at: Instant | None
    who: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What a record holds, and the name of whom it is about."""

    detail: Mapping[str, Json]
    name: str | None

    def text(self, key: str) -> str:
        """A value inside a sentence; empty when it was not recorded."""
        found = self.detail.get(key)
        return "" if found is None else isolate(str(found))

    def person(self) -> str:
        """Whom the change is about."""
        return isolate(self.name or _GONE)

    def invite(self) -> str:
        """Which invite, by its label."""
        email = self.text("email")
        return f"the invite for {email}" if email else "an invite"

    def pair(self, key: str) -> tuple[str, str]:
        """What a value was and what it became."""
        found = self.detail.get(key)
        before, after = found if isinstance(found, list) and len(found) == 2 else (None, found)
        return isolate(str(before)), isolate(str(after))


def lines(rows: Iterable[AuditRow], zone: str | None) -> list[RecordLine]:
    """Records in the order they come, times in the viewer's zone or UTC."""
    return [
        RecordLine(
            at=instant(row.at, zone),
            who=row.actor_name or _GONE.capitalize(),
            what=_what(row),
        )
        for row in rows
    ]


def _what(row: AuditRow) -> str:
    detail = row.detail if isinstance(row.detail, dict) else {}
    facts = _Facts(detail=detail, name=row.subject_name)
    said = _SAID.get(row.action)
    return row.action.replace("_", " ") if said is None else said(facts)


def _edited(facts: _Facts) -> str:
    said = [
        f"{word} from {facts.pair(field)[0]} to {facts.pair(field)[1]}"
        for field, word in _FIELDS.items()
        if field in facts.detail
    ]
    if "members_create_webhooks" in facts.detail:
        may = facts.pair("members_create_webhooks")[1] == str(True)
        said.append("members may make webhooks" if may else "members may make no webhooks")
    return "edited: " + ", ".join(said)


def _role_changed(facts: _Facts) -> str:
    before, after = facts.pair("role")
    return f"changed the role of {facts.person()} from {before} to {after}"


def _released(facts: _Facts) -> str:
    number = facts.detail.get("released")
    if not isinstance(number, int) or number == 0:
        return ""
    return f"; {number} held {'todo' if number == 1 else 'todos'} released"


_SAID: dict[str, Callable[[_Facts], str]] = {
    "team_created": lambda facts: f"created the team as {facts.text('slug')}",
    "team_edited": _edited,
    "team_transferred": lambda facts: f"transferred the team to {facts.person()}",
    "member_left": lambda facts: f"left the team{_released(facts)}",
    "member_removed": lambda facts: f"removed {facts.person()}{_released(facts)}",
    "role_changed": _role_changed,
    "invite_created": lambda facts: (
        f"invited {facts.text('email') or 'somebody'} as {facts.text('role')}"
    ),
    "invite_revoked": lambda facts: f"revoked {facts.invite()}",
    "invite_accepted": lambda facts: f"accepted {facts.invite()} as {facts.text('role')}",
    "group_linked": lambda facts: f"linked group {facts.text('group')} as {facts.text('role')}",
    "group_unlinked": lambda facts: f"unlinked group {facts.text('group')}",
    "group_member_set": lambda facts: f"{facts.person()} is {facts.text('role')} by a group",
    "group_member_removed": lambda facts: f"{facts.person()} is not in the team by a group now",
    "queue_created": lambda facts: f"created queue {facts.text('queue')}",
    "queue_deleted": lambda facts: f"deleted queue {facts.text('queue')}",
    "queue_granted": lambda facts: (
        f"let endpoint {facts.text('endpoint')} drain queue {facts.text('queue')}"
    ),
    "queue_ungranted": lambda facts: (
        f"took queue {facts.text('queue')} from endpoint {facts.text('endpoint')}"
    ),
}
