"""Lists of endpoints and agents, by what a human may configure."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.db.database import Database
from app.domain.errors import NotFound
from app.reads import endpoints
from tests.support.make import Make


def test_expired_counts_as_revoked_before_any_sweep(db: Database, make: Make) -> None:
    human = make.human()
    endpoint = make.endpoint(human, expires_at=make.now() - timedelta(seconds=1))

    assert endpoints.get_endpoint(db, human, endpoint.slug).state == "revoked"
    assert [row.state for row in endpoints.list_endpoints(db, human)] == ["revoked"]


@pytest.mark.parametrize(("role", "count"), [("owner", 1), ("admin", 1), ("member", 0)])
def test_a_teams_endpoints_and_agents_are_its_admins_to_list(
    db: Database, make: Make, role: str, count: int
) -> None:
    human, team = make.human(), make.team()
    make.member(team, human, role)
    make.endpoint(team=team)

    assert len(endpoints.list_endpoints(db, human)) == count
    assert len(endpoints.list_agents(db, human)) == count


def test_two_memberships_of_one_team_list_nothing_twice(db: Database, make: Make) -> None:
    human, team = make.human(), make.team()
    make.member(team, human, "admin")
    make.member(team, human, "owner", source="oidc_group")
    make.endpoint(team=team)

    assert len(endpoints.list_endpoints(db, human)) == 1
    assert len(endpoints.list_agents(db, human)) == 1


def test_a_suspended_teams_endpoints_are_nobodys_to_configure(db: Database, make: Make) -> None:
    human, team = make.human(), make.team()
    make.member(team, human, "owner")
    endpoint = make.endpoint(team=team)
    make.run("update teams set suspended_at = clock()")

    with pytest.raises(NotFound):
        endpoints.get_endpoint(db, human, endpoint.slug)


def test_newest_comes_first(db: Database, make: Make) -> None:
    human = make.human()
    slugs = [make.endpoint(human).slug for _ in range(3)]

    assert [row.slug for row in endpoints.list_endpoints(db, human)] == slugs[::-1]
