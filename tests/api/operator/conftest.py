"""One human with a token, and what they own, for every test of the operator door."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.domain.callers import Endpoint, Human
from tests.support.client import Caller
from tests.support.make import Make


@pytest.fixture
def ada(make: Make) -> Human:
    """The human who asks."""
    return make.human("Ada", email="ada@example.org")


@pytest.fixture
def api(operator: Callable[[Human], Caller], ada: Human) -> Caller:
    """/api/v1 as Ada."""
    return operator(ada)


@pytest.fixture
def lane(make: Make, ada: Human) -> Endpoint:
    """An active endpoint of Ada's with two queues."""
    return make.endpoint(ada, name="lane", queues=("lane-m", "a/b"))


@pytest.fixture
def revoked(make: Make, ada: Human) -> Endpoint:
    """A revoked endpoint of Ada's."""
    endpoint = make.endpoint(ada, name="gone")
    make.run("update endpoints set state = 'revoked' where id = %s", endpoint.id)
    return endpoint


@pytest.fixture
def foreign(make: Make) -> Endpoint:
    """Somebody else's endpoint."""
    return make.endpoint(name="theirs", queues=("lane-m", "a/b"))
