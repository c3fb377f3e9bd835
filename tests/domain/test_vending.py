"""Names, slugs, grants and references: pure rules behind vending and addressing."""

from __future__ import annotations

import uuid

import pytest

from app.domain.cursors import read_cursor, write_cursor
from app.domain.errors import InvalidArgument
from app.domain.references import endpoint_reference, parse_row_number, parse_uuid
from app.domain.tokens import display_prefix, hash_token, slugify
from app.domain.vending import VendRequest, check_vend
from app.domain.verbs import BASICS, FAMILIES, GRANTABLE


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("My Agent", "my-agent"),
        ("  a--b__c  ", "a-b-c"),
        ("Ünïcode", "unicode"),
        ("日本", "agent"),
        ("!!!", "agent"),
        ("x" * 90, "x" * 40),
        ("a" * 39 + " b", "a" * 39),
    ],
)
def test_a_slug_holds_lowercase_letters_digits_and_single_hyphens(name: str, slug: str) -> None:
    assert slugify(name) == slug


def test_only_a_hash_and_a_short_prefix_stay_of_a_token() -> None:
    token = "sbk_" + "a" * 43

    assert display_prefix(token) == "sbk_aaaaaa"
    assert len(hash_token(token)) == 64
    assert token not in hash_token(token)


def test_the_families_partition_what_may_be_granted() -> None:
    named = [verb for family in FAMILIES.values() for verb in family]

    assert sorted(named) == sorted(GRANTABLE)
    assert len(set(named)) == len(named)
    assert set(BASICS) <= set(GRANTABLE)
    assert "whoami" not in GRANTABLE


def test_a_grant_keeps_the_order_it_was_asked_in() -> None:
    grant = check_vend(VendRequest(name=" m ", queues=("b", "a"), verbs=("fail", "claim")))

    assert (grant.name, grant.queues, grant.verbs) == ("m", ("b", "a"), ("fail", "claim"))
    assert grant.lifetime is None


def test_a_uuid_is_known_by_its_usual_spelling_only() -> None:
    known = uuid.uuid4()

    assert parse_uuid(str(known)) == known
    for other in ("", "x" * 36, known.hex, f"{{{known}}}", f"urn:uuid:{known}", f"{known} "):
        assert parse_uuid(other) is None


@pytest.mark.parametrize("text", ["", "0", "-1", "1.0", "²", "٣", " 1", "9" * 19, "9" * 30, "x"])
def test_no_other_text_is_a_row_number(text: str) -> None:
    assert parse_row_number(text) is None


def test_a_row_number_is_plain_digits() -> None:
    assert parse_row_number("9223372036854775807") == 2**63 - 1


def test_what_the_store_cannot_hold_refers_to_nothing() -> None:
    assert endpoint_reference("a\x00b") == {"ref": "", "ref_id": None}
    assert endpoint_reference("\ud800") == {"ref": "", "ref_id": None}
    assert endpoint_reference("lane-m-k3x9") == {"ref": "lane-m-k3x9", "ref_id": None}


def test_a_cursor_comes_back_as_it_was() -> None:
    assert read_cursor(write_cursor("todo", "a:b"), "todo") == "a:b"


@pytest.mark.parametrize(
    "cursor", ["", "=", "é", "!!!!", "AAAA", write_cursor("event", "1"), "x" * 600,
               write_cursor("todo", "1") + "=", write_cursor("todo", "1") + "A"]
)
def test_any_other_text_is_no_cursor(cursor: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        read_cursor(cursor, "todo")

    assert refused.value.field == "cursor"
