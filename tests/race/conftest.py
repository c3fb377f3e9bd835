"""What the races share: a pair of servers that their tests take turns on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.race.ground import Ground, grounded
from tests.support.pg import Databases, Fresh, opened
from tests.support.receiver import Receiver, receiving
from tests.support.servers import Fleet

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A receiver of notify hooks that the pair trusts: each test takes a path of its own."""
    with receiving(tmp_path_factory.mktemp("receiver")) as made:
        yield made


@pytest.fixture(scope="package")
def pair(
    fast_cluster: Databases, worker_id: str, tmp_path_factory: pytest.TempPathFactory,
    receiver: Receiver,
) -> Iterator[Fleet]:
    """Two servers on one database for all races: each test makes endpoints of its own."""
    name = f"pair_{worker_id}_{next(_numbers)}"
    url = fast_cluster.create(name)
    with opened(url) as db:
        fleet = Fleet(Fresh(url, db), tmp_path_factory.mktemp("pair"))
        try:
            fleet.add_together(2, SSL_CERT_FILE=str(receiver.authority),
                               SWITCHBOARD_NOTIFY_HOOK_ALLOW_CIDRS="127.0.0.0/8,::1")
            yield fleet
        finally:
            fleet.close()
    fast_cluster.drop(name)


@pytest.fixture
def ground(fresh_database: Fresh) -> Iterator[Ground]:
    """A product without superpowers on a database of its own."""
    with grounded(fresh_database) as made:
        yield made
