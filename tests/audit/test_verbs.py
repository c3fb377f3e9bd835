"""Every agent verb, called by who holds it, who lacks it, and those whom it is not for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pytest

from app.api import registry
from app.domain import callers
from app.domain.callers import Endpoint
from app.domain.verbs import GRANTABLE
from tests.api.asking import Answer, answer
from tests.audit import stage
from tests.audit.conftest import Theatre
from tests.audit.rows import filled
from tests.audit.rows_verbs import ROWS, VerbRow
from tests.support.make import Make, QueueId, Team
from tests.support.recorded import recorded

KINDS = ("own", "team", "guest")
Names = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """An endpoint that holds some verbs, its credential, and its things by the names of rows."""

    endpoint: Endpoint
    credential: str
    names: Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays: by verb and kind those who hold it alone, by verb who lacks it."""

    holding: Mapping[tuple[str, str], Actor]
    lacking: Mapping[str, Actor]
    foreign: Mapping[str, Actor]


@pytest.fixture(scope="module")
def cast(theatre: Theatre) -> Cast:
    """Endpoints of Ann's, of team blue, and of its member's, each with one of everything."""
    make, humans = theatre.make, theatre.stage.humans
    blue = _team(make, "blue")
    shared, fenced = make.team_queue(blue, "drained"), make.team_queue(blue, "fenced")
    member = partial(_actor, make, human=humans["member"], queue=shared)
    makers = {
        "own": partial(_actor, make, human=humans["ann"]),
        "team": partial(_actor, make, human=humans["owner"], team=blue, queue=shared),
        "guest": member,
    }
    made = Cast(
        holding={(verb, kind): makers[kind](verbs=(verb,))
                 for verb in registry.VERBS for kind in KINDS},
        lacking={verb: makers["own"](verbs=_all_but(verb)) for verb in registry.VERBS},
        foreign={
            "another's": _actor(make, human=humans["stranger"], verbs=GRANTABLE),
            "the same person's": makers["own"](verbs=GRANTABLE),
            "the team's, not granted": _actor(make, human=humans["owner"], team=blue,
                                              verbs=GRANTABLE, queue=fenced),
        },
    )  # fmt: skip
    theatre.keeper.keep()
    return made


def test_every_verb_has_a_row_and_every_row_a_verb() -> None:
    assert {row.verb for row in ROWS} == set(registry.VERBS)


def test_a_verb_without_a_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.VERBS, "stray", registry.VERBS["claim"])

    with pytest.raises(AssertionError):
        test_every_verb_has_a_row_and_every_row_a_verb()


@pytest.mark.rule("agent-api.md: Grants")
def test_who_holds_a_verb_may_use_it_and_who_lacks_it_may_not(
    theatre: Theatre, cast: Cast
) -> None:
    found = []
    for row in ROWS:
        actors = [(kind, cast.holding[row.verb, kind], getattr(row, kind)) for kind in KINDS]
        for kind, actor, expected in [*actors, ("without", cast.lacking[row.verb], row.without)]:
            asked = call(theatre, actor.credential, row, actor.names)
            if said(asked) != expected:
                found.append(f"{title(row)} by {kind}: {said(asked)}, not {expected}: {asked.body}")
            changed = theatre.keeper.put_back()
            if asked.status >= 400:
                found += [f"{title(row)} by {kind}: changed {table}" for table in changed]

    assert not found, "\n".join(found)


@pytest.mark.rule("identity.md: Ways in")
def test_nobody_else_is_let_through_the_door(theatre: Theatre, cast: Cast) -> None:
    """No human's token, no session, nothing: one answer, whatever the verb and whoever asks."""
    client, found = theatre.app.test_client(), []
    session = f"sb_session={theatre.stage.sessions['owner']}"
    held = [{}, {"Cookie": session}, *({"Authorization": f"Bearer {token}"} for token in (
        *theatre.stage.tokens.values(), theatre.stage.sessions["owner"]))]  # fmt: skip

    for row in ROWS:
        arguments = filled(row.arguments, cast.holding[row.verb, "own"].names)
        for headers in held:
            asked = client.post(f"/agent/v1/{row.verb}", json=arguments, headers=headers)
            if asked.status_code != 401:
                found.append(f"{title(row)}: {asked.status_code} for {sorted(headers)}")

    assert not found, "\n".join(found)
    assert theatre.keeper.put_back() == set()


@pytest.mark.rule("identity.md: Ownership")
def test_the_things_of_others_are_like_unknown_ones(
    theatre: Theatre, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By bytes and by statements; also the things of another endpoint of the same person's."""
    found = []
    for row in ROWS:
        if row.foreign is None:
            continue
        for kind in KINDS:
            actor = cast.holding[row.verb, kind]
            for whose, other in cast.foreign.items():
                problem = f"{title(row)} by {kind} for {whose}"
                found += [f"{problem}: {fault}" for fault in _unlike(
                    theatre, monkeypatch, row, actor, _named(other))]  # fmt: skip
            theatre.keeper.put_back()

    assert not found, "\n".join(found)


def call(theatre: Theatre, credential: str, row: VerbRow, names: Names) -> Answer:
    """A row's call with these things."""
    return answer(theatre.app.test_client().post(
        f"/agent/v1/{row.verb}", json=filled(row.arguments, names),
        headers={"Authorization": f"Bearer {credential}"}))  # fmt: skip


def said(asked: Answer) -> str:
    """What a row says of an answer."""
    return f"{asked.status} {asked.body['code']}" if asked.status >= 400 else str(asked.status)


def title(row: VerbRow) -> str:
    """How a fault names a row."""
    return f"{row.verb} {dict(row.arguments)}"


def _unlike(
    theatre: Theatre, patch: pytest.MonkeyPatch, row: VerbRow, actor: Actor, foreign: Names
) -> list[str]:
    unknown = {**_UNKNOWN, "queue": "team:nobody/inbox"}
    call(theatre, actor.credential, row, unknown)
    answers, ran = [], []
    for names in (foreign, unknown):
        with recorded(patch) as texts:
            answers.append(call(theatre, actor.credential, row, names))
        ran.append(stage.names_of(texts))
    found = [f"{said(answers[0])}, not {row.foreign}"] * (said(answers[0]) != row.foreign)
    found += [f"reads {answers[0].body}, not {answers[1].body}"] * (answers[0] != answers[1])
    return found + [f"runs {ran[0]}, not {ran[1]}"] * (ran[0] != ran[1])


_UNKNOWN = {
    "todo": "td_" + "0" * 32, "held": "td_" + "0" * 32, "webhook": stage.UNKNOWN_ID,
    "hook": stage.UNKNOWN_ID,
}  # fmt: skip


def _named(actor: Actor) -> Names:
    # A bare name always means one's own queue, so a foreign one can only be named as a team's.
    return {**actor.names, "queue": actor.names["team_queue"]}


def _all_but(verb: str) -> tuple[str, ...]:
    lent = {verb, *callers.IMPLIED.get(verb, ())}
    return tuple(each for each in GRANTABLE if each not in lent)


def _team(make: Make, slug: str) -> Team:
    found = make.value("select id from teams where slug = %s", slug)
    return Team(id=found, slug=slug)


def _actor(
    make: Make, *, human: callers.Human, verbs: tuple[str, ...], team: Team | None = None,
    queue: QueueId | None = None,
) -> Actor:  # fmt: skip
    endpoint = make.endpoint(human, team, verbs=verbs)
    if queue is not None:
        make.grant(endpoint, queue)
    where = queue or make.queue_id(endpoint)
    names = {
        "queue": where.name, "team_queue": where.name if queue else "team:blue/fenced",
        "todo": str(make.todo(queue=where)),
        "held": str(make.todo(endpoint, where, state="claimed")),
        "webhook": str(make.webhook(endpoint).id), "hook": str(make.notify_hook(endpoint)),
    }  # fmt: skip
    return Actor(endpoint=endpoint, credential=make.credential(endpoint), names=names)
