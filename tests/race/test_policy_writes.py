"""The limiter of policy writes holds over processes: it is one bucket, in Postgres (R43)."""

from __future__ import annotations

import pytest

from app.domain.verbs import ADMISSION, BASICS
from tests.support.race import all_returned, together
from tests.support.servers import Fleet, agent, operator

pytestmark = [pytest.mark.race, pytest.mark.timeout(300)]


@pytest.mark.rule("R43: of 20 writes at once over two servers 10 or 11 pass")
def test_ten_of_twenty_writes_at_once_pass_over_two_servers(servers: Fleet) -> None:
    make = servers.make
    human = make.human()
    lane = make.endpoint(human, verbs=(*BASICS, *ADMISSION))
    token, credential = make.operator_token(human), make.credential(lane)
    path = f"/admission/endpoint:{lane.slug}/inbox"

    def put(number: int) -> int:
        caller = operator(servers[number % 2].url, token)
        return caller.request("PUT", path, {"max_in_flight": number + 1}).status

    def set_policy(number: int) -> int:
        caller = agent(servers[number % 2].url, credential)
        policy = {"max_in_flight": number + 101}
        return caller.call("set_admission_policy", queue="inbox", policy=policy).status

    for write in (put, set_policy):
        servers.clock.real()
        # The clock stands, so a slow machine earns nobody a twelfth.
        servers.clock.set(servers.clock.now())
        statuses = all_returned(together(20, write))

        assert sorted(statuses) == [200] * 10 + [429] * 10
    assert make.value("select count(*) from admission_policy_audit") == 20
