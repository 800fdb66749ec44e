"""Tests of the rule for addresses that a call may reach."""

import ipaddress

import pytest

from app.core.urls import is_public

REGISTRIES = (
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32"),
    *("192.0.0.171/32", "192.0.2.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16", "198.18.0.0/15"),
    *("198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32", "::/128", "::1/128"),
    *("64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128"),
    *("2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28"),
    *("2001:30::/28", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10"),
)
"""The blocks of the IANA special-purpose registries (2025-10-09) that contain no receiver of a user."""

OTHERS = ("224.0.0.0/4", "ff00::/8", "fec0::/10", "::ffff:0:0:0/96", "::/96", "4000::/2", "8000::/1", "::/3")
REACHABLE = ("192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", "2620:4f:8000::/48", "2400::/12", "1.0.0.0/8")
EMBEDDED = {"::ffff:0:0/96": 0, "64:ff9b::/96": 0, "2002::/16": 80}
"""Blocks whose addresses contain an IPv4 address, with the number of bits after it."""

NOT_PUBLIC = tuple(map(ipaddress.ip_network, (*REGISTRIES, *OTHERS)))


def _is_expected(number: int, version: int) -> bool:
    address = ipaddress.IPv4Address(number) if version == 4 else ipaddress.IPv6Address(number)
    for block, shift in EMBEDDED.items():
        if address in ipaddress.ip_network(block):
            return _is_expected(number >> shift & 0xFFFFFFFF, 4)
    return not any(address in network for network in NOT_PUBLIC)


@pytest.mark.parametrize("block", [*REGISTRIES, *OTHERS, *REACHABLE, *EMBEDDED])
def test_bounds_of_a_block_and_the_addresses_outside_follow_the_registry(block: str) -> None:
    network = ipaddress.ip_network(block)
    first, last = int(network.network_address), int(network.broadcast_address)
    numbers = [number for number in (first - 1, first, last, last + 1) if 0 <= number < 1 << network.max_prefixlen]
    make = ipaddress.IPv4Address if network.version == 4 else ipaddress.IPv6Address
    shown = {str(make(number)): _is_expected(number, network.version) for number in numbers}
    assert {address: is_public(address) for address in shown} == shown


@pytest.mark.parametrize("block", [*REGISTRIES, "224.0.0.0/4", "fec0::/10", "::ffff:0:0:0/96"])
def test_special_address_is_not_public(block: str) -> None:
    network = ipaddress.ip_network(block)
    assert not is_public(str(network.network_address))
    assert not is_public(str(network.broadcast_address))


@pytest.mark.parametrize("version", [4, 6])
def test_next_addresses_of_the_named_blocks_are_public(version: int) -> None:
    outside = {4: ("9.255.255.255", "11.0.0.0", "192.0.1.0", "223.255.255.255"), 6: ("2001:200::", "2620:4f:8000::1")}
    assert all(map(is_public, outside[version]))


@pytest.mark.parametrize(
    "address",
    [
        *("fe80::1%eth0", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::", "64:ff9b::7f00:1"),
        *("::7f00:1", "::ffff:0:7f00:1", "2001:0:1::"),
    ],
)
def test_address_with_a_private_one_inside_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_public_address_is_public(address: str) -> None:
    assert is_public(address)
