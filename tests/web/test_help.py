"""Help: every topic is there for everyone, every page leads to one, and what it says is so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.web.help import TOPICS
from tests.support.client import Browser
from tests.support.make import Make
from tests.support.page import parse

ROOT = Path(__file__).resolve().parents[2]
SLUGS = [topic.slug for topic in TOPICS]


def test_help_lists_every_topic_and_each_leads_back(client: FlaskClient) -> None:
    links = [link.get("href") for link in parse(client.get("/help").text).all("a")]

    assert [f"/help/{slug}" for slug in SLUGS] == [
        link for link in links if link and link.startswith("/help/")][:len(SLUGS)]
    for topic in TOPICS:
        page = client.get(f"/help/{topic.slug}")
        assert page.status_code == 200
        assert f'<h1 id="heading">{topic.heading}</h1>' in page.text
        assert '<a href="/help">All help topics</a>' in page.text


@pytest.mark.parametrize("slug", ["topic", "index", "nothing", "../base", "claims.html"])
def test_another_word_is_no_topic(client: FlaskClient, slug: str) -> None:
    assert client.get(f"/help/{slug}").status_code == 404


def test_help_is_one_link_away_at_the_same_place_on_every_page(
    client: FlaskClient, browser: Callable[..., Browser], make: Make
) -> None:
    seat = browser(make.human())
    pages = [client.get("/"), client.get("/login"), seat.get("/"), seat.get("/settings"),
             seat.get("/help/claims"), seat.get("/nothing-here"), client.post("/logout")]

    for page in pages:
        read = parse(page.text)
        footer = [link for link in read.all("a")
                  if any(outer.tag == "footer" for outer in link.inside)]
        assert (footer[0].text, footer[1].get("href")) == (
            "Help for this page", "/help/accessibility")
        assert client.get(str(footer[0].get("href"))).status_code == 200


def test_every_page_that_names_a_topic_names_one_that_exists() -> None:
    named = {
        slug
        for folder in ("app/web", "templates")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".html")
        for slug in re.findall(r"""help_topic["']?\s*[=:]\s*["'](\w+)["']""", path.read_text())
    }

    assert "settings" in named
    assert named <= set(SLUGS)


@pytest.mark.parametrize(("slug", "said"), [
    ("claims", "Each retry"), ("claims", "A takeover"), ("claims", "Nothing is given back"),
    ("budgets", "0 pauses the queue"), ("budgets", "23 or 25 hours"),
    ("workers", "next_eligible_at"), ("workers", "wait_seconds"), ("workers", "deferred"),
    ("webhooks", "A budget never refuses, delays or charges a delivery."),
    ("teams", "A budget of a team's queue is one budget, whoever claims"),
    ("teams", "the last one cannot leave"), ("teams", "goes back to pending at once"),
    ("keyboard", "no shortcuts of single letters"),
    ("accessibility", "Orca 43 on Chromium"), ("accessibility", "VoiceOver"),
    ("accessibility", "Tell the person who runs this server"),
])
def test_what_must_be_explained_is(client: FlaskClient, slug: str, said: str) -> None:
    assert said in " ".join(parse(client.get(f"/help/{slug}").text).all("main")[0].text.split())
