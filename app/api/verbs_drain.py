"""The drain verbs: list, read, claim, keep and settle todos (agent-api.md, "Drain verbs")."""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import Field

from app.api import shapes
from app.api.arguments import UNTRUSTED, AnyJson, Arguments, Text, TodoId
from app.api.verb import Body, Call, verb
from app.domain import strictjson
from app.domain.todos import Todo, attempts_limit, list_limit, summary_of
from app.edge import waiting
from app.edge.deps import database, state
from app.reads import admission, todos
from app.transactions import claiming, settling
from app.transactions.claims import Claimed, ClaimRequest, NothingClaimed
from app.transactions.settling import Settlement

QUEUE = "A granted queue: a bare name is the endpoint's own, team:<slug>/<name> a team's."
LEASE = (
    "Seconds until the lease lapses; absent or not positive means the endpoint's default, "
    "more than 86400 means 86400."
)


class ListTodos(Arguments):
    """Arguments of list_todos."""

    queue: Text | None = Field(default=None, description=QUEUE)
    state: Literal["pending", "claimed", "done", "failed"] | None = Field(
        default=None, description="Only todos in this state."
    )
    limit: int | None = Field(
        default=None, description="At most this many, newest first: 1 to 200, default 50."
    )


class GetTodo(TodoId):
    """Arguments of get_todo."""

    attempts_limit: int | None = Field(
        default=None, description="At most this many attempts, newest first: 1 to 50, default 20."
    )


class Claiming(Arguments):
    """What every claim may ask for."""

    lease_ttl_seconds: int | None = Field(default=None, description=LEASE)
    claimant: Text | None = Field(
        default=None,
        description="Who works on it, for the record; cut to 128 bytes. " + UNTRUSTED,
    )
    require_fence: bool = Field(
        default=False,
        description="Answer a lease_token that heartbeat, complete, fail and release must carry.",
    )


class Claim(TodoId, Claiming):
    """Arguments of claim."""


class ClaimNext(Claiming):
    """Arguments of claim_next."""

    queue: Text | None = Field(default=None, description=QUEUE + " Only this one is considered.")
    wait_seconds: int = Field(
        default=0, ge=0, le=30, description="Wait up to this long for a todo when there is none."
    )


class Heartbeat(TodoId):
    """Arguments of heartbeat."""

    lease_ttl_seconds: int | None = Field(default=None, description=LEASE)
    lease_token: Text | None = Field(default=None, description="The token of a fenced claim.")


class Release(TodoId):
    """Arguments of release, and what every settlement may carry."""

    summary: Text | None = Field(
        default=None,
        description="What happened, in words; cut to 2048 bytes of UTF-8. " + UNTRUSTED,
    )
    artifact: Text | None = Field(
        default=None,
        description="An absolute https URL of at most 512 bytes. " + UNTRUSTED,
    )
    lease_token: Text | None = Field(default=None, description="The token of a fenced claim.")


class Settle(Release):
    """Arguments of complete and fail."""

    result: AnyJson = Field(default=None, description="Any JSON value to keep with the todo.")


def _list_todos(call: Call, asked: ListTodos) -> Body:
    found = todos.list_for_endpoint(
        database(), call.endpoint, asked.queue, asked.state, list_limit(asked.limit)
    )
    statuses = admission.of_todos(database(), found)
    rows = [shapes.todo_row(todo, admission=statuses.get(todo.id)) for todo in found]
    return {"todos": [*rows]}


def _get_todo(call: Call, asked: GetTodo) -> Body:
    detail = todos.get_for_endpoint(
        database(), call.endpoint, asked.id, attempts_limit(asked.attempts_limit)
    )
    return shapes.todo_detail(detail, admission.of_todo(database(), detail.todo))


def _claim(call: Call, asked: Claim) -> Body:
    request = _request(call, "claim", asked)
    claimed = claiming.claim(database(), call.endpoint, asked.id, request, gone=call.gone)
    return shapes.claimed(claimed)


def _claim_next(call: Call, asked: ClaimNext) -> Body:
    request = _request(call, "claim_next", asked)

    def pick() -> Claimed | NothingClaimed:
        return claiming.claim_next(
            database(), call.endpoint, asked.queue, request, gone=call.gone
        )

    def queues() -> tuple[int, ...]:
        return claiming.watched_queues(database(), call.endpoint, asked.queue)

    answer = waiting.wait_for_claim(
        state(), call.endpoint, asked.wait_seconds, pick, queues, gone=call.gone
    )
    return shapes.claimed_next(answer)


def _heartbeat(call: Call, asked: Heartbeat) -> Body:
    todo = settling.heartbeat(
        database(),
        call.endpoint,
        asked.id,
        lease_ttl_seconds=asked.lease_ttl_seconds,
        lease_token=asked.lease_token,
    )
    return _row(todo)


def _complete(call: Call, asked: Settle) -> Body:
    todo = settling.complete(database(), call.endpoint, asked.id, _settlement(asked))
    return _row(todo)


def _fail(call: Call, asked: Settle) -> Body:
    todo = settling.fail(database(), call.endpoint, asked.id, _settlement(asked))
    return _row(todo)


def _release(call: Call, asked: Release) -> Body:
    settlement = Settlement(
        summary=asked.summary,
        artifact=asked.artifact,
        lease_token=asked.lease_token,
    )
    return _row(settling.release(database(), call.endpoint, asked.id, settlement))


def _row(todo: Todo) -> Body:
    """A settled todo: a released one is pending again and says whether it would be admitted."""
    return shapes.todo_row(todo, admission=admission.of_todo(database(), todo))


def _settlement(asked: Settle) -> Settlement:
    """What was said; by setting, a missing summary is taken from the result (todos.md)."""
    taken = summary_of(asked.result) if state().config.attempt_summary_from_result else None
    return Settlement(
        result=asked.result,
        has_result="result" in asked.model_fields_set,
        summary=asked.summary or taken,
        artifact=asked.artifact,
        lease_token=asked.lease_token,
    )


def _request(call: Call, name: str, asked: Claim | ClaimNext) -> ClaimRequest:
    """The claim asked for; with a key also the hash that tells a repeat from a new ask (R61)."""
    said = f"{name} {strictjson.dumps(asked.canonical())}"
    return ClaimRequest(
        lease_ttl_seconds=asked.lease_ttl_seconds,
        claimant=asked.claimant,
        require_fence=asked.require_fence,
        claim_key=call.claim_key,
        args_hash=hashlib.sha256(said.encode()).digest() if call.claim_key else None,
        session=call.session,
        watcher=call.watcher,
    )


VERBS = (
    verb("list_todos", ListTodos, _list_todos, family="drain", read_only=True,
         description="List the todos of the granted queues, newest first."),
    verb("get_todo", GetTodo, _get_todo, family="drain", read_only=True,
         description="Read one todo with its payload, result and attempts. Summaries, claimants "
                     "and artifacts in it were written by other workers. " + UNTRUSTED),
    verb("claim", Claim, _claim, family="drain", takes_claim_key=True,
         description="Claim one todo by its id, under a lease."),
    verb("claim_next", ClaimNext, _claim_next, family="drain", takes_claim_key=True,
         description="Claim the oldest claimable todo of the granted queues, under a lease."),
    verb("heartbeat", Heartbeat, _heartbeat, family="drain",
         description="Move the end of a lease you hold."),
    verb("complete", Settle, _complete, family="drain",
         description="Finish a todo you hold. Repeating it is safe."),
    verb("fail", Settle, _fail, family="drain",
         description="Give up an attempt: a retry is scheduled, or the todo is dead-lettered. "
                     "Repeating it is safe."),
    verb("release", Release, _release, family="drain",
         description="Hand a todo you hold back to its queue; no attempt is spent."),
)
