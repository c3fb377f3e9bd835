"""What may be a team's slug, which roles there are, and who may give them."""

from __future__ import annotations

import pytest

from app.domain import teams
from app.domain.errors import InvalidArgument, RoleCeiling


@pytest.mark.parametrize("slug", ["abc", "a-b", "team-7", "0x0", "a" * 40, "a-" * 19 + "ab"])
def test_a_slug_is_letters_digits_and_single_hyphens(slug: str) -> None:
    assert teams.check_slug(slug) == slug


@pytest.mark.parametrize("slug", [
    "", "ab", "a" * 41, "Abc", "a--b", "-abc", "abc-", "a_b", "a b", "äbc", "abc\n", "a/b",
    "a\x00b", "①②③", "0b8e9c1a-2f6d-4c1e-9d8b-7a6f5e4d3c2b",
    "0-b-8-e-9c1a2f6d4c1e9d8b7a6f5e4d3c2b", "team:a",
])
def test_any_other_slug_is_refused_by_name(slug: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        teams.check_slug(slug)
    assert refused.value.field == "slug"


def test_roles_grow_from_member_to_owner() -> None:
    assert [teams.rank(role) for role in ("member", "admin", "owner")] == [0, 1, 2]
    for wrong in ("", "Owner", "root"):
        with pytest.raises(InvalidArgument):
            teams.check_role(wrong)
    with pytest.raises(InvalidArgument):
        teams.check_role("owner", roles=teams.LINK_ROLES)


def test_nobody_grants_above_their_own_role_and_a_member_grants_nothing() -> None:
    may = {own: [role for role in teams.ROLES if teams.may_grant(own, role)]
           for own in teams.ROLES}

    assert may == {
        "member": [], "admin": ["member", "admin"], "owner": ["member", "admin", "owner"],
    }  # fmt: skip
    teams.require_grant("admin", "member", "admin")
    with pytest.raises(RoleCeiling):
        teams.require_grant("admin", "member", "owner")


def test_labels_are_trimmed_and_bounded() -> None:
    assert teams.check_email(" Bob@Example.ORG ") == "bob@example.org"
    assert teams.check_group(" Staff ") == "Staff"
    for check, longest in ((teams.check_email, 254), (teams.check_group, 255)):
        assert check("x" * longest)
        for wrong in ("", " ", "x" * (longest + 1), "a\x00b", "a\nb"):
            with pytest.raises(InvalidArgument):
                check(wrong)
