"""Every page of teams and invites, in every state, as it is for everyone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from a11y.support.browser import Visit
from a11y.support.cases import Case
from a11y.support.pages_teams import TEAMS
from a11y.support.site import Site


@pytest.mark.parametrize("case", TEAMS, ids=lambda case: case.name)
def test_a_page_is_for_everyone(visit: Callable[..., Visit], site: Site, case: Case) -> None:
    case.check(visit(site.url), site)
