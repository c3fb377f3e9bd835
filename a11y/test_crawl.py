"""The audit of a running site: it signs in, follows links, posts nothing, says what it finds."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from a11y.crawl import Crawl, Refused, inspect, shape
from a11y.support.site import Site


def test_every_page_behind_the_navigation_is_opened_and_nothing_is_changed(
    chromium: Browser, site: Site
) -> None:
    before, lines = site.facts(), []

    faulty = inspect(chromium, site.url, site.link(), lines.append, most=9)

    assert faulty == 0, "\n".join(lines)
    opened = {line.split()[1] for line in lines if line.startswith("ok")}
    assert {"/", "/todos", "/endpoints", "/webhooks", "/budgets", "/settings", "/help"} <= opened
    assert site.facts() == before


def test_a_link_that_is_used_up_is_refused_in_words(chromium: Browser, site: Site) -> None:
    with pytest.raises(Refused, match="Cannot sign in"):
        inspect(chromium, site.url, f"{site.url}/auth/link/used", print)


def test_pages_that_differ_by_their_ids_alone_are_of_one_shape() -> None:
    assert shape("/queues/7/budget") == shape("/queues/12/budget") == "/queues/*/budget"
    assert shape("/todos/td_" + "a" * 32) == "/todos/*"
    assert shape("/todos?state=done&q=") == shape("/todos?q=x&state=failed") == "/todos?q,state"


def test_a_crawl_opens_two_pages_of_a_shape_and_stays_on_the_site() -> None:
    crawl = Crawl("http://site")
    for address in ("http://site/queues/1", "http://site/queues/2#x", "http://site/queues/3",
                    "http://elsewhere/", "http://site/events", "http://site/queues/1"):
        crawl.add(address)

    opened = [crawl.next() for _ in range(4)]

    assert opened == ["/", "/queues/1", "/queues/2", None]
    assert crawl.left_out == 1
