"""What a row of an expectation table says, and the short words the tables are written with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flask import Flask

# An answer is its status, and the code of a refusal.
DOOR = "401 unauthenticated"
HIDDEN = "404 not_found"
ROLE = "403 role_required"
CONFLICT = "409 conflict"

Body = Mapping[str, object]
NAME = re.compile(r"{(\w+)}")
# What a path may name beside things that belong to somebody.
NOBODYS = frozenset({"topic", "link", "file", "slug", "nothing"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request: `method`, `path` with the `{names}` of a place, and the JSON `body`, likewise.

    `own` is the answer to the person whose thing it is, when a person owns it; `member`, `admin`
    and `owner` the answers to the roles of the team whose thing it is. None: it is never such a
    thing. Anybody else is a stranger, and `nobody` shows no credential. A stranger is answered
    HIDDEN where the path names something, and `own` where it does not, unless `stranger` says.
    `agent` is the answer to any endpoint's credential.
    """

    method: str
    path: str
    body: Body | None = None
    own: str | None = None
    member: str | None = None
    admin: str | None = None
    owner: str | None = None
    nobody: str = DOOR
    agent: str = DOOR
    stranger: str | None = None

    @property
    def names(self) -> list[str]:
        """The things of somebody's that the path names, each once."""
        return [name for name in dict.fromkeys(NAME.findall(self.path)) if name not in NOBODYS]

    @property
    def is_tenants(self) -> bool:
        """Whether it is about somebody's thing."""
        return bool(self.names) or bool(NAME.search(str(self.body or "")))

    @property
    def foreign(self) -> str:
        """What a stranger is answered."""
        if self.stranger is not None:
            return self.stranger
        return HIDDEN if self.is_tenants else self.own or self.owner or ""

    @property
    def title(self) -> str:
        """How a fault names it."""
        return f"{self.method} {self.path}"

    def fill(self, names: Mapping[str, str]) -> tuple[str, Body | None]:
        """The path and the body for the things of a place."""
        return self.path.format(**names), None if self.body is None else filled(self.body, names)


def filled(body: Body, names: Mapping[str, str]) -> Body:
    """A body whose `{names}` are filled in, at any depth."""
    return {key: _filled(item, names) for key, item in body.items()}


def _filled(item: object, names: Mapping[str, str]) -> object:
    if isinstance(item, str):
        return NAME.sub(lambda found: names[found[1]], item)
    if isinstance(item, Mapping):
        return filled(item, names)
    return item


def row(
    method: str, path: str, body: Body | None = None, *, everyone: str | None = None,
    own: str | None = None, team: tuple[str, str, str] | None = None, stranger: str | None = None,
    nobody: str = DOOR, agent: str = DOOR,
) -> Row:  # fmt: skip
    """A row: `own` for a person's thing, `team` for member, admin and owner of a team's thing.

    `everyone` is the answer to every human, whose things it names or not.
    """
    member, admin, owner = team or (everyone, everyone, everyone)
    return Row(method=method, path=path, body=body, own=own or everyone, member=member,
               admin=admin, owner=owner, stranger=stranger or everyone, nobody=nobody,
               agent=agent)  # fmt: skip


def rules_of(app: Flask) -> set[tuple[str, str]]:
    """Every method of every rule of an application."""
    return {
        (method, rule.rule) for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }  # fmt: skip


def rules_for(app: Flask, rows: Iterable[Row]) -> set[tuple[str, str]]:
    """The rules that rows reach; NotFound or MethodNotAllowed for a row without a route."""
    adapter, found = app.url_map.bind("localhost"), set()
    for each in rows:
        path = NAME.sub("7", each.path).partition("?")[0]
        rule, _ = adapter.match(path, method=each.method, return_rule=True)
        found.add((each.method, rule.rule))
    return found
