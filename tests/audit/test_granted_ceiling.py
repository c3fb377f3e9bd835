"""A grant opens what was ticked at consent, whatever an app asks for or swaps afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from app.domain.verbs import GRANTABLE
from app.transactions.oauth_tokens import Issued
from tests.audit.conftest import Theatre
from tests.audit.test_own_ceiling import EVERYTHING_ELSE, Ground, admission_writes
from tests.support.oauth import AGENT, CALLBACK, OPERATOR, VERIFIER, App, an_app

pytestmark = pytest.mark.req("REQ-10", "By default an agent cannot raise its own ceiling")

SCOPES = ("set_admission_policy", "operator", " ".join(GRANTABLE), "*", "admin",
          "claim set_admission_policy", "claim\u00a0set_admission_policy")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """An app's grant of an endpoint that holds the two verbs, which were not ticked."""

    ground: Ground
    widget: App
    issued: Issued
    code: str

    def trade(self, **form: str) -> tuple[int, dict[str, str]]:
        """What the token endpoint answers to a form."""
        answer = self.ground.client.post(
            "/oauth/token", data={"client_id": self.widget.client_id, **form})
        return answer.status_code, answer.get_json()

    def is_refused(self, token: str) -> bool:
        """Whether a token opens neither the two verbs nor anything of a human's."""
        headers = {"Authorization": f"Bearer {token}"}
        asked = self.ground.client.post(
            "/agent/v1/set_admission_policy", headers=headers,
            json={"queue": "inbox", "policy": {"max_in_flight": 1000}})  # fmt: skip
        answers = [self.ground.client.open(path, method=method, json=body, headers=headers)
                   for method, path, body in admission_writes(self.ground)]  # fmt: skip
        return asked.status_code in (401, 403) and all(
            answer.status_code in (401, 403) for answer in answers)


@pytest.fixture
def granted(theatre: Theatre) -> Iterator[Granted]:
    """Ann ticked every verb but the two; afterwards nothing that limits the agent has moved."""
    make, ann = theatre.make, theatre.stage.humans["ann"]
    wide = make.endpoint(ann, verbs=GRANTABLE)
    inbox = make.queue_id(wide)
    make.policy(inbox, max_in_flight=1, human=ann)
    names = {**theatre.stage.own.names, "queue_id": str(int(inbox)), "queue_name": "inbox",
             "scope": f"endpoint:{wide.slug}", "endpoint": str(wide.id)}  # fmt: skip
    widget = an_app(theatre.db, make)
    made = Granted(
        ground=Ground(theatre=theatre, lane=wide, names=names, token=make.credential(wide)),
        widget=widget, issued=widget.tokens(ann, wide, EVERYTHING_ELSE),
        code=widget.allowed(ann, wide, EVERYTHING_ELSE),
    )  # fmt: skip
    before = made.ground.ceiling()
    yield made
    assert made.ground.ceiling() == before
    theatre.keeper.put_back()


def test_the_endpoints_own_credential_may_and_the_grant_may_not(granted: Granted) -> None:
    """So that the refusals here are the grant's doing."""
    body = {"queue": "inbox", "policy": {"max_in_flight": "nonsense"}}

    assert granted.ground.post("set_admission_policy", body).status_code == 400
    assert granted.is_refused(granted.issued.access_token)


def test_a_refresh_gives_no_scope_that_was_not_ticked(granted: Granted) -> None:
    refresh = granted.issued.refresh_token
    for scope in SCOPES:
        for resource in ({}, {"resource": AGENT}, {"resource": OPERATOR}):
            status, body = granted.trade(grant_type="refresh_token", refresh_token=refresh,
                                         scope=scope, verbs="set_admission_policy", **resource)
            assert (status, body["error"]) in {
                (400, "invalid_scope"), (400, "invalid_target"), (400, "invalid_request")
            }, (scope, resource)  # fmt: skip

    status, body = granted.trade(grant_type="refresh_token", refresh_token=refresh)

    assert status == 200
    assert "admission_policy" not in body["scope"]
    assert granted.is_refused(body["access_token"])


@pytest.mark.parametrize("swapped", ["credential", "code", "access token", "refresh token"])
def test_no_token_is_swapped_for_another_kind(granted: Granted, swapped: str) -> None:
    token = {"credential": granted.ground.token, "code": granted.code,
             "access token": granted.issued.access_token,
             "refresh token": granted.issued.refresh_token}[swapped]  # fmt: skip
    exchange = "urn:ietf:params:oauth:grant-type:"
    forms = (
        {"grant_type": "authorization_code", "code": token, "code_verifier": VERIFIER,
         "redirect_uri": CALLBACK, "resource": OPERATOR},
        {"grant_type": "refresh_token", "refresh_token": token, "resource": OPERATOR},
        {"grant_type": f"{exchange}token-exchange", "subject_token": token, "scope": "operator"},
        {"grant_type": f"{exchange}jwt-bearer", "assertion": token},
        {"grant_type": "client_credentials", "client_secret": token, "scope": "operator"},
        {"grant_type": "password", "username": "ann", "password": token},
    )  # fmt: skip

    for form in forms:
        status, _ = granted.trade(**form)
        assert status in (400, 401), form
    if swapped != "credential":  # that one may, as its owner chose
        assert granted.is_refused(token)


def test_an_app_that_registers_with_more_gets_no_more(granted: Granted) -> None:
    answer = granted.ground.client.post("/oauth/register", json={
        "client_name": "Widget", "redirect_uris": [CALLBACK], "scope": "set_admission_policy",
        "grant_types": ["client_credentials", "password"], "verbs": ["set_admission_policy"],
        "token_endpoint_auth_method": "none"})  # fmt: skip

    assert answer.status_code in (201, 400)
    if answer.status_code == 201:
        status, _ = granted.trade(grant_type="client_credentials", scope="operator",
                                  client_id=answer.get_json()["client_id"])
        assert status in (400, 401)
