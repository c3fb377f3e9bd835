"""Addresses a hook may reach: ours is never laxer than an independent list, and says why."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from AntiSSRF import AntiSSRFPolicy, IPAddressRanges, PolicyConfigOptions
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.addresses import AddressRules, Range, parse_networks, refusal, way_in

STRICT = AddressRules(own_port=8080)
_ORACLE = [each.get_network()
           for each in AntiSSRFPolicy(PolicyConfigOptions.EXTERNAL_ONLY_LATEST).denied_addresses]


def why(address: str, *allowed: str, port: int = 443, is_local: bool = False) -> Range | None:
    """Why an address is refused under an allowlist."""
    rules = AddressRules(allowed=parse_networks(allowed), own_port=8080)
    return refusal(address, port, rules, is_local=is_local)


def oracle_denies(address: IPv4Address | IPv6Address) -> bool:
    """What the independent library says; it compares IPv4 in its mapped form."""
    wide = IPv6Address(f"::ffff:{address}") if isinstance(address, IPv4Address) else address
    return any(wide in network for network in _ORACLE)


@pytest.mark.parametrize("text", IPAddressRanges.recommended_latest)
def test_every_range_of_the_independent_list_is_refused(text: str) -> None:
    network = ip_network(text)
    middle = network[network.num_addresses // 2]

    for address in {network[0], network[-1], middle}:
        assert oracle_denies(address)
        assert refusal(str(address), 443, STRICT, is_local=False), address


@settings(max_examples=500, deadline=None)
@given(st.ip_addresses())
def test_what_is_permitted_the_independent_list_permits_too(
    address: IPv4Address | IPv6Address,
) -> None:
    if refusal(str(address), 443, STRICT, is_local=False) is None:
        assert not oracle_denies(address)


@settings(max_examples=500, deadline=None)
@given(st.ip_addresses(v=6, network="2000::/3"))
def test_the_same_among_the_addresses_that_ipv6_gives_out(address: IPv6Address) -> None:
    if refusal(str(address), 443, STRICT, is_local=False) is None:
        assert not oracle_denies(address)


@settings(max_examples=300, deadline=None)
@given(st.ip_addresses(v=4))
def test_an_ipv4_address_inside_an_ipv6_one_is_refused_whatever_it_is(inner: IPv4Address) -> None:
    number = int(inner)
    forms = [
        f"::ffff:{inner}", f"::{inner}", f"::ffff:0:{inner}", f"64:ff9b::{inner}",
        f"64:ff9b:1::{inner}", str(IPv6Address(0x2002 << 112 | number << 80 | 1)),
        str(IPv6Address(0x2001_0000 << 96 | (number ^ 0xFFFFFFFF))),
    ]

    assert all(refusal(form, 443, STRICT, is_local=False) for form in forms)


@pytest.mark.parametrize(("address", "range_"), [
    ("127.0.0.1", Range.LOOPBACK), ("127.255.255.254", Range.LOOPBACK), ("::1", Range.LOOPBACK),
    ("169.254.169.254", Range.LINK_LOCAL), ("fe80::1", Range.LINK_LOCAL),
    ("fe80::1%eth0", Range.LINK_LOCAL), ("2606:4700::1%1", Range.LINK_LOCAL),
    ("10.0.0.1", Range.PRIVATE), ("172.31.255.255", Range.PRIVATE), ("192.168.1.1", Range.PRIVATE),
    ("fd00::1", Range.UNIQUE_LOCAL), ("100.64.0.1", Range.SHARED), ("0.0.0.0", Range.UNSPECIFIED),
    ("::", Range.UNSPECIFIED), ("224.0.0.1", Range.MULTICAST), ("ff02::1", Range.MULTICAST),
    ("::ffff:8.8.8.8", Range.EMBEDDED), ("::127.0.0.1", Range.EMBEDDED),
    ("64:ff9b::7f00:1", Range.EMBEDDED), ("64:ff9b:1::1", Range.EMBEDDED),
    ("2002:7f00:1::", Range.EMBEDDED), ("2001:0:7f00:1::", Range.EMBEDDED),
    ("255.255.255.255", Range.RESERVED), ("240.0.0.1", Range.RESERVED),
    ("fec0::1", Range.RESERVED), ("168.63.129.16", Range.RESERVED),
    ("4000::1", Range.RESERVED), ("0177.0.0.1", Range.MALFORMED), ("2130706433", Range.MALFORMED),
    ("localhost", Range.MALFORMED), ("", Range.MALFORMED),
    ("8.8.8.8", None), ("172.32.0.1", None), ("100.128.0.1", None), ("2606:4700::1111", None),
])  # fmt: skip
def test_why_an_address_is_refused(address: str, range_: Range | None) -> None:
    assert why(address) is range_


@pytest.mark.parametrize(("address", "allowed", "is_freed"), [
    ("10.1.2.3", ["10.0.0.0/8"], True), ("10.1.2.3", ["10.1.2.3/32"], True),
    ("10.1.2.3", ["10.1.2.4"], False), ("10.1.2.3", ["0.0.0.0/0"], True),
    ("100.64.0.1", ["100.64.0.0/10"], True), ("fd00::1", ["fd00::/8"], True),
    ("fd00::1", ["::/0"], True), ("fd00::1", ["0.0.0.0/0"], False),
    ("127.0.0.1", ["0.0.0.0/0"], False), ("127.0.0.1", ["127.0.0.0/7"], False),
    ("127.0.0.1", ["127.0.0.0/8"], True), ("127.0.0.1", ["127.0.0.1"], True),
    ("127.0.0.1", ["0.0.0.0/0", "127.0.0.2/32"], False),
    ("::1", ["::/0"], False), ("::1", ["::1"], True),
    ("169.254.169.254", ["169.254.169.254/32"], True), ("169.254.169.254", ["::/0"], False),
    ("169.254.169.254", ["168.0.0.0/5"], False), ("fe80::1", ["fe80::/10"], True),
    ("::ffff:10.1.2.3", ["10.0.0.0/8", "::/0", "::ffff:0:0/96"], False),
    ("64:ff9b::a01:203", ["10.0.0.0/8", "::/0"], False), ("224.0.0.1", ["224.0.0.0/4"], False),
    ("0.0.0.0", ["0.0.0.0/8"], False), ("240.0.0.1", ["240.0.0.0/4"], False),
    ("198.18.0.1", ["198.18.0.0/15"], False),
])  # fmt: skip
def test_what_the_allowlist_frees(address: str, allowed: list[str], *, is_freed: bool) -> None:
    assert (why(address, *allowed) is None) is is_freed


def test_our_own_address_and_port_are_refused_whatever_is_allowed() -> None:
    assert why("127.0.0.1", "127.0.0.0/8", port=8080, is_local=True) is Range.OURS
    assert why("8.8.8.8", "0.0.0.0/0", port=8080, is_local=True) is Range.OURS
    assert why("127.0.0.1", "127.0.0.0/8", port=8081, is_local=True) is None
    assert why("8.8.8.8", port=8080) is None


def test_networks_are_read_with_their_host_bits() -> None:
    assert parse_networks(["10.1.2.3/8", "::1"]) == (ip_network("10.0.0.0/8"),
                                                     ip_network("::1/128"))
    assert ip_address("10.9.9.9") in parse_networks(["10.1.2.3/8"])[0]


@pytest.mark.parametrize("found", Range)
def test_a_refusal_says_truly_whether_a_setting_would_permit_it(found: Range) -> None:
    examples = {Range.LOOPBACK: ("127.0.0.9", "127.0.0.0/8"),
                Range.LINK_LOCAL: ("169.254.1.1", "169.254.0.0/16"),
                Range.PRIVATE: ("10.1.2.3", "0.0.0.0/0"),
                Range.UNIQUE_LOCAL: ("fd00::1", "::/0"), Range.SHARED: ("100.64.0.1", "0.0.0.0/0"),
                Range.UNSPECIFIED: ("0.0.0.0", "0.0.0.0/8"),
                Range.MULTICAST: ("224.0.0.1", "224.0.0.0/4"),
                Range.EMBEDDED: ("2002::1", "2002::/16"),
                Range.RESERVED: ("240.0.0.1", "240.0.0.0/4")}  # fmt: skip

    permits = "SWITCHBOARD_NOTIFY_HOOK_ALLOW_CIDRS" in way_in(found)

    if found in examples:
        address, allowed = examples[found]
        assert why(address) is found
        assert (why(address, allowed) is None) is permits
    else:
        assert not permits
