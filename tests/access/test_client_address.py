"""Tests of the client address with and without proxies."""

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from app.access.client_address import client_address, network_of


def request_from(peer: str | None, *forwarded: str) -> Request:
    builder = EnvironBuilder(headers=[("X-Forwarded-For", value) for value in forwarded])
    environ = builder.get_environ()
    environ["REMOTE_ADDR"] = peer
    return Request(environ)


class TestClientAddress:
    def test_client_address_without_trusted_hops_is_the_peer(self) -> None:
        assert client_address(request_from("192.0.2.1", "198.51.100.7"), trusted_hops=0) == "192.0.2.1"

    @pytest.mark.parametrize(
        ("hops", "forwarded", "expected"),
        [
            (1, ["198.51.100.7"], "198.51.100.7"),
            (1, ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
            (2, ["203.0.113.9, 198.51.100.7"], "203.0.113.9"),
            (2, ["6.6.6.6, 203.0.113.9, 198.51.100.7"], "203.0.113.9"),
            (2, ["6.6.6.6, 203.0.113.9", "198.51.100.7"], "203.0.113.9"),
            (3, ["203.0.113.9"], "203.0.113.9"),
            (1, [], "192.0.2.1"),
            (1, ["198.51.100.7:4711"], "198.51.100.7"),
            (1, ["[2001:db8::1]:4711"], "2001:db8::1"),
            (1, ["fe80::1%eth0"], "fe80::1"),
            (1, ['"203.0.113.9, 198.51.100.7'], "198.51.100.7"),
        ],
    )
    def test_client_address_with_trusted_hops_is_the_nth_entry_from_the_right(
        self, hops: int, forwarded: list[str], expected: str
    ) -> None:
        assert client_address(request_from("192.0.2.1", *forwarded), trusted_hops=hops) == expected

    def test_client_address_of_mapped_ipv6_is_ipv4(self) -> None:
        assert client_address(request_from("::ffff:192.0.2.1"), trusted_hops=0) == "192.0.2.1"

    @pytest.mark.parametrize(("peer", "expected"), [("unix:", "unix"), ("", None), (None, None)])
    def test_client_address_of_an_invalid_peer_is_none_or_unix(self, peer: str | None, expected: str | None) -> None:
        assert client_address(request_from(peer), trusted_hops=0) == expected


class TestNetworkOf:
    @pytest.mark.parametrize(
        ("address", "network"),
        [
            ("192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::ffff", "2001:db8:1:2::/64"),
            (None, "unknown"),
            ("nonsense", "unknown"),
        ],
    )
    def test_network_of_an_address_is_the_prefix_of_one_subscriber(self, address: str | None, network: str) -> None:
        assert network_of(address) == network
