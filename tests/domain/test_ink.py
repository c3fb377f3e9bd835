"""A name or a title of which nothing would be seen is none, wherever a person gives one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.domain import authoring, oauth_clients, teams, tokens, vending
from app.domain.errors import InvalidArgument
from app.domain.ink import has_ink

UNSEEN = (
    "", " ", "\u3000", "\u200b", "\u202e", "\u2066\u2069", "\ufeff\u00ad", "\u2060\u180e", "\ufe0f",
    "\u0301", "\u034f", "\u3164", "\uffa0", "\u115f\u1160", "\u2800", "\u2065", "\ufff3",
    "\U000e0041", "\U000e0100", "\U000e0fff", "\U0001d159", " \u200b\u202e ",
)
SEEN = ("a", "\u202ea", "e\u0301", "\u0645", "\u4e2d", "\U0001f680", "-", "\u0e01", "\u2066x\u2069")

NAMES: dict[str, Callable[[str], object]] = {
    "a person, a team, an operator token": tokens.check_name,
    "an agent": lambda text: vending.check_vend(
        vending.VendRequest(name=text, webhook_source_type="github")).name,
    "an invite": teams.check_email,
    "a group": teams.check_group,
    "an app": oauth_clients.check_client_name,
    "a todo": lambda text: authoring.check_work(authoring.NewWork(title=text)).title,
    "a kind of todo": lambda text: authoring.check_work(
        authoring.NewWork(title="x", kind=text)).kind,
}  # fmt: skip


def test_some_characters_are_seen_and_some_are_not() -> None:
    assert [text for text in UNSEEN if has_ink(text)] == []
    assert [text for text in SEEN if not has_ink(text)] == []


def refusal(check: Callable[[str], object], text: str) -> str:
    """What is said of a name; nothing when it is taken."""
    try:
        check(text)
    except InvalidArgument as refused:
        return refused.sentence
    return ""


@pytest.mark.parametrize("whose", NAMES)
def test_every_name_has_something_to_be_seen(whose: str) -> None:
    check = NAMES[whose]

    assert [text for text in UNSEEN if "must not be blank." not in refusal(check, text)] == []
    assert [check(text) for text in SEEN] == list(SEEN)
