"""Which addresses a notify hook may reach; whatever is not plainly public is refused.

Source: contract push.md, "Notify hooks" (SSRF). `ipaddress.is_global` alone calls several forms
public that lead back inside, so the ranges are spelled out; IPv6 is refused by default.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

Network: TypeAlias = IPv4Network | IPv6Network
Address: TypeAlias = IPv4Address | IPv6Address


class Range(StrEnum):
    """Why an address is refused."""

    LOOPBACK = "loopback"
    LINK_LOCAL = "link-local"
    PRIVATE = "private"
    UNIQUE_LOCAL = "unique-local"
    SHARED = "carrier-grade NAT"
    UNSPECIFIED = "unspecified"
    MULTICAST = "multicast"
    EMBEDDED = "an IPv4 address inside an IPv6 one"
    RESERVED = "reserved"
    OURS = "this server's own"
    MALFORMED = "not an address"


# The allowlist may free these by any entry, and those of _NARROW by an entry within them.
_FREED: Final = frozenset({Range.PRIVATE, Range.UNIQUE_LOCAL, Range.SHARED})
_NARROW: Final = frozenset({Range.LOOPBACK, Range.LINK_LOCAL})

_RANGES: Final[tuple[tuple[Range, tuple[str, ...]], ...]] = (
    (Range.LOOPBACK, ("127.0.0.0/8", "::1/128")),
    (Range.LINK_LOCAL, ("169.254.0.0/16", "fe80::/10")),
    (Range.PRIVATE, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")),
    (Range.UNIQUE_LOCAL, ("fc00::/7",)),
    (Range.SHARED, ("100.64.0.0/10",)),
    (Range.UNSPECIFIED, ("0.0.0.0/8", "::/128")),
    (Range.MULTICAST, ("224.0.0.0/4", "ff00::/8")),
    # Mapped, compatible, NAT64 (both prefixes), 6to4, Teredo: any of them may lead inside.
    (
        Range.EMBEDDED,
        ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48",
         "2002::/16", "2001::/32"),
    ),
    (
        Range.RESERVED,
        ("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
         "192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
         "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32", "2001::/23", "2001:db8::/32",
         "2620:4f:8000::/48", "3fff::/20"),
    ),
)  # fmt: skip
_REFUSED: Final = tuple(
    (why, ip_network(text)) for why, texts in _RANGES for text in texts
)
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")


def way_in(why: Range) -> str:
    """What the server's settings can do about a refusal, as a sentence."""
    if why in _FREED:
        return "A network in SWITCHBOARD_NOTIFY_HOOK_ALLOW_CIDRS that holds it would permit it."
    if why in _NARROW:
        return (
            f"A network in SWITCHBOARD_NOTIFY_HOOK_ALLOW_CIDRS that holds it and is {why} as a"
            " whole would permit it."
        )
    return "No setting permits it."


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRules:
    """Networks that are freed, and the port we listen on ourselves."""

    allowed: tuple[Network, ...] = ()
    own_port: int = 0


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks as a setting spells them, host bits cleared; ValueError for what is none."""
    return tuple(ip_network(text, strict=False) for text in texts)


def refusal(text: str, port: int, rules: AddressRules, *, is_local: bool) -> Range | None:
    """Why nobody may be sent to this address and port; None when they may.

    `is_local` says that the address is one of this machine: with our own port it is ourselves,
    whatever the allowlist frees. An IPv6 zone is refused with the rest.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return Range.MALFORMED
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return Range.LINK_LOCAL
    if is_local and port == rules.own_port:
        return Range.OURS
    found = _range_of(address)
    if found is None or _is_freed(address, found, rules.allowed):
        return None
    return found


def _range_of(address: Address) -> Range | None:
    for why, network in _REFUSED:
        if address in network:
            return why
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return Range.RESERVED
    return None


def _is_freed(address: Address, found: Range, allowed: Iterable[Network]) -> bool:
    entries = [entry for entry in allowed if address in entry]
    if found in _FREED:
        return bool(entries)
    return found in _NARROW and any(_is_within(entry, found) for entry in entries)


def _is_within(entry: Network, whole: Range) -> bool:
    return any(why is whole and _holds(network, entry) for why, network in _REFUSED)


def _holds(network: Network, entry: Network) -> bool:
    if isinstance(network, IPv4Network):
        return isinstance(entry, IPv4Network) and entry.subnet_of(network)
    return isinstance(entry, IPv6Network) and entry.subnet_of(network)
