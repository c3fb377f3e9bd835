"""The command line: what each command comes to for each of those who may be logged in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.audit.rows import NAME

# A command exits with 0, or with 1 and the code of the API's refusal.
DONE = "0"
HIDDEN = "1 not_found"
ROLE = "1 role_required"
CONFLICT = "1 conflict"
AWAY = "1 unauthenticated"  # nobody is logged in: no server was asked

_CEILING = "1 role_ceiling"
_LAST = "1 last_owner"
_ALL = (DONE, DONE, DONE)
_ADMINS = (ROLE, DONE, DONE)
_OWNERS = (ROLE, ROLE, DONE)
_SETS_UP = (HIDDEN, DONE, DONE)

# Commands that ask no server as a human, and why no row can say anything of them.
ON_THE_HOST: Mapping[str, str] = {
    **dict.fromkeys(
        ("serve", "migrate", "doctor", "db dump", "db load", "admin create-human",
         "admin login-url", "admin token", "admin setting", "queue budget verify", "demo"),
        "acts on the server's own machine, for whoever has its database and its key"),
    "version": "says which program this is",
    "completion": "prints a script for a shell",
    "login": "takes a token and asks who it is; it names nothing",
    "work": "drains with an endpoint's credential, as test_verbs.py has it",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """A command's words with the `{names}` of a place, and the answers as in `rows.Row`."""

    words: tuple[str, ...]
    own: str | None = None
    team: tuple[str, str, str] | None = None
    stranger: str | None = None
    stdin: str = ""
    nobody: str = AWAY
    agent: str = "1 unauthenticated"

    @property
    def command(self) -> str:
        """The command's name: the words before the first argument, by the tree."""
        return " ".join(self.words)

    @property
    def is_tenants(self) -> bool:
        """Whether it names somebody's thing."""
        return bool(NAME.search(self.command))

    @property
    def foreign(self) -> str:
        """What a stranger is answered."""
        return self.stranger or (HIDDEN if self.is_tenants else self.own or DONE)

    def fill(self, names: Mapping[str, str]) -> list[str]:
        """The words for the things of a place, and --json."""
        return [*(NAME.sub(lambda found: names[found[1]], word) for word in self.words), "--json"]


def _run(text: str, **more: object) -> CommandRow:
    return CommandRow(words=tuple(re.findall(r"\S+", text)), **more)


ROWS: tuple[CommandRow, ...] = (
    # --- one's own, whoever one is ---
    _run("status", own=DONE),
    _run("logout", own=DONE, nobody=DONE, agent=DONE),
    _run("agent list", own=DONE),
    _run("agents", own=DONE),
    _run("endpoint list", own=DONE),
    _run("endpoints", own=DONE),
    _run("endpoint vend typed", own=DONE),
    _run("vend typed", own=DONE),
    _run("todo list", own=DONE),
    _run("event list", own=DONE),
    _run("team list", own=DONE),
    _run("team create typed-team", own=DONE),
    _run("team invite accept", own=HIDDEN, stdin="nothing\n"),
    # --- endpoints ---
    _run("endpoint edit {endpoint} --default-lease 90", own=DONE, team=_SETS_UP),
    _run("endpoint revoke {endpoint} -y", own=DONE, team=_SETS_UP),
    _run("endpoint presence {endpoint}", own=DONE, team=_SETS_UP),
    _run("endpoint clock-in {endpoint}", own=DONE, team=_SETS_UP),
    _run("endpoint clock-out {endpoint}", own=DONE, team=_SETS_UP),
    _run("endpoint shift {endpoint}", own=DONE, team=_SETS_UP),
    _run("endpoint vend typed --team {team}", team=_ADMINS),
    _run("vend typed --team {team}", team=_ADMINS),
    # --- webhooks ---
    _run("webhook list {endpoint}", own=DONE, team=_SETS_UP),
    _run("webhook create {endpoint} --source-type gitea --queue inbox", own=DONE, team=_SETS_UP),
    _run("webhook rotate {webhook}", own=DONE, team=_SETS_UP),
    _run("webhook delete {webhook}", own=DONE, team=_SETS_UP),
    _run("webhook routes {webhook}", own=DONE, team=_SETS_UP),
    # --- todos and events ---
    _run("event show {event}", own=DONE, team=_ALL),
    _run("todo show {todo}", own=DONE, team=_ALL),
    _run("todo push {endpoint} typed", own=DONE, team=_SETS_UP),
    _run("todo push team:{team} typed --queue {team_queue}", team=_ALL),
    _run("todo retry {dead}", own=DONE, team=_ALL),
    _run("todo discard {parked} -y", own=DONE, team=_ADMINS),
    _run("todo release {mine}", own=DONE, team=(CONFLICT, CONFLICT, DONE)),
    _run("todo complete {mine}", own=DONE, team=(CONFLICT, CONFLICT, DONE)),
    _run("todo fail {mine}", own=DONE, team=(CONFLICT, CONFLICT, DONE)),
    # --- budgets ---
    _run("queue budget show {budget} {queue_name}", own=DONE, team=_SETS_UP),
    _run("queue budget set {budget} {queue_name} --max-in-flight 7", own=DONE, team=_SETS_UP),
    _run("queue budget clear {budget} {queue_name}", own=DONE, team=_SETS_UP),
    _run("queue budget show", own=DONE),
    # --- teams ---
    _run("team show {team}", team=_ALL),
    _run("team edit {team} --name typed", team=_OWNERS),
    _run("team edit {team} --members-create-webhooks on", team=_ADMINS),
    _run("team delete {team} -y", team=(ROLE, ROLE, CONFLICT)),
    _run("team leave {lone}", team=(DONE, DONE, _LAST)),
    _run("team transfer {team} {hand}", team=_OWNERS),
    _run("team member list {team}", team=_ALL),
    _run("team member role {team} {hand} admin", team=_ADMINS),
    _run("team member role {lone} {boss} member", team=(ROLE, _CEILING, _LAST)),
    _run("team member remove {team} {hand}", team=_ADMINS),
    _run("team invite list {team}", team=_ADMINS),
    _run("team invite create {team} typed@example.org", team=_ADMINS),
    _run("team invite revoke {team} {invite} -y", team=_ADMINS),
    _run("team group list {team}", team=_ADMINS),
    _run("team group add {team} typed", team=(ROLE, ROLE, "1 group_not_held")),
    _run("team group remove {team} {group_link}", team=_OWNERS),
    _run("team queue list {team}", team=_ALL),
    _run("team queue create {team} typed", team=_ADMINS),
    _run("team queue delete {team} {idle_queue} -y", team=_ADMINS),
    _run("team grant {endpoint} team:{team}/{team_queue}", team=_SETS_UP),
    _run("team ungrant {endpoint} team:{team}/{team_queue}", team=_SETS_UP),
)
