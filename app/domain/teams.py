"""Teams: their roles and who may give which, their slugs, and what may name a group."""

from __future__ import annotations

import re
from typing import Final

from app.domain.errors import InvalidArgument, RoleCeiling
from app.domain.references import parse_uuid
from app.domain.tokens import check_name

ROLES: Final = ("member", "admin", "owner")
"""From the weakest to the strongest (identity.md, "Teams")."""

LINK_ROLES: Final = ("member", "admin")
"""What a group of the sign-in provider may give: nobody becomes owner by a group."""

SLUG_MIN, SLUG_MAX = 3, 40
GROUP_MAX = 255
EMAIL_MAX = 254

_SLUG: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def rank(role: str) -> int:
    """The strength of a role: 0 for member, 1 for admin, 2 for owner."""
    return ROLES.index(role)


def check_slug(text: str, field: str = "slug") -> str:
    """The slug as it is: 3 to 40 lowercase letters, digits and single hyphens.

    Any other is InvalidArgument on `field`, and so is one that reads as an id: wherever a slug is
    taken an id is too, and it must not lead to somebody else's team. (data.md, "Teams")
    """
    if not (SLUG_MIN <= len(text) <= SLUG_MAX and _SLUG.fullmatch(text)):
        raise InvalidArgument(
            f"{field}: {SLUG_MIN} to {SLUG_MAX} lowercase letters, digits and single hyphens.",
            field=field,
        )
    if parse_uuid(text) is not None:
        raise InvalidArgument(f"{field}: must not look like an id.", field=field)
    return text


def check_role(text: str, field: str = "role", roles: tuple[str, ...] = ROLES) -> str:
    """The role as it is when it is one of `roles`, else InvalidArgument on `field`."""
    if text not in roles:
        raise InvalidArgument(f"{field}: one of {', '.join(roles)}.", field=field)
    return text


def check_email(text: str, field: str = "email") -> str:
    """The label of an invite in lower case; InvalidArgument on `field`. It proves nothing."""
    return check_name(text, field, EMAIL_MAX).lower()


def check_group(text: str, field: str = "group") -> str:
    """A group as the provider writes it, 1 to 255 characters; InvalidArgument on `field`."""
    return check_name(text, field, GROUP_MAX)


def may_grant(own: str, role: str) -> bool:
    """Whether who holds `own` may give, change or take `role`: admins up to admin, owners all.

    (identity.md, "Teams": invites and removes members and admins; owner role: owner)
    """
    return own != "member" and rank(own) >= rank(role)


def require_grant(own: str, *roles: str) -> None:
    """Raise RoleCeiling unless `own` may give and take every one of `roles`."""
    if not all(may_grant(own, role) for role in roles):
        raise RoleCeiling
