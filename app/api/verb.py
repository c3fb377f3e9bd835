"""A verb of the agent surface: what it is called, takes, does; no word about a transport."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from app.api import arguments
from app.api.arguments import A, Arguments
from app.domain.callers import Endpoint
from app.domain.values import Json
from app.transactions.claims import Watcher

Body: TypeAlias = "dict[str, Json]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a verb, as a surface hands it down.

    `gone` says whether the client has left; a claim asks it right before its commit, and has its
    locks watched by `watcher` meanwhile (R12).
    `claim_key` is the Idempotency-Key of a claim (R61); other verbs never look at it.
    """

    endpoint: Endpoint
    gone: Callable[[], bool]
    watcher: Watcher | None = None
    claim_key: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One entry of the registry; `run` judges raw arguments and answers the JSON body."""

    name: str
    family: str
    description: str
    read_only: bool
    takes_claim_key: bool
    arguments: type[Arguments]
    run: Callable[[Call, Mapping[str, Json]], Body]

    @property
    def described(self) -> Body:
        """The verb as `GET /agent/v1/verbs` lists it (agent-api.md, "Transport")."""
        return {
            "name": self.name,
            "description": self.description,
            "read_only": self.read_only,
            "input_schema": arguments.input_schema(self.arguments),
        }


def verb(
    name: str,
    takes: type[A],
    handler: Callable[[Call, A], Body],
    *,
    family: str,
    description: str,
    read_only: bool = False,
    takes_claim_key: bool = False,
) -> Verb:
    """Make a Verb whose handler only ever sees arguments that `takes` has accepted."""

    def run(call: Call, raw: Mapping[str, Json]) -> Body:
        return handler(call, arguments.parse(takes, raw))

    return Verb(
        name=name,
        family=family,
        description=description,
        read_only=read_only,
        takes_claim_key=takes_claim_key,
        arguments=takes,
        run=run,
    )
