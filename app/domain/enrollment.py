"""Who may come in through a sign-in provider for the first time (cli.md, "Environment")."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrollment:
    """`mode` is open, allowlist or invite; `allow` are email addresses and @domains, lower case."""

    mode: str = "open"
    allow: tuple[str, ...] = ()

    def admits(self, verified_email: str | None) -> bool:
        """Say whether a newcomer may come in; an address nobody verified opens nothing.

        `invite` admits no newcomer: only people who are known already.
        """
        if self.mode != "allowlist":
            return self.mode == "open"
        if verified_email is None:
            return False
        address = verified_email.lower()
        return address in self.allow or f"@{address.rpartition('@')[2]}" in self.allow
