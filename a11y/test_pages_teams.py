"""Every page of teams and invites, in every state, as it is for everyone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from a11y.support.browser import Visit
from a11y.support.cases import Case
from a11y.support.keys import Keys
from a11y.support.pages_teams import TEAMS, blue
from a11y.support.site import Site


@pytest.mark.parametrize("case", TEAMS, ids=lambda case: case.name)
def test_a_page_is_for_everyone(visit: Callable[..., Visit], site: Site, case: Case) -> None:
    case.check(visit(site.url), site)


def test_the_focus_lands_on_what_was_done_without_scripts(
    visit: Callable[..., Visit], site: Site
) -> None:
    team, person = blue(site), visit(site.url, java_script_enabled=False)
    person.sign_in(site.session())
    page = person.open(f"/teams/{team.slug}")
    keys, ben = Keys(page), site.make.value("select id from humans where display_name = 'Ben'")

    page.locator("#queue-name").fill("new-work")
    page.get_by_role("button", name="Create the queue").click()
    made = site.make.value("select id from queues where name = 'new-work'")
    keys.expect_focus(f"queue-{made}")

    page.get_by_role("link", name="Change role of Ben").click()
    keys.expect_focus("role")
    page.locator("#role").select_option("admin")
    page.get_by_role("button", name="Change role of Ben").click()
    keys.expect_focus(f"member-{ben}")

    page.get_by_role("link", name="Remove Ben").click()
    page.get_by_role("button", name="Remove Ben").click()
    keys.expect_focus("members")
    page.get_by_role("link", name="Leave Blue team").click()
    page.get_by_role("link", name="Back to").click()
    keys.expect_focus("leave-team")
