"""Tests of the rule for addresses that a call may reach."""

import pytest

from app.core.urls import is_public

PRIVATE = (
    *("127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1", "fe80::1%eth0"),  # noqa: S104
    *("fc00::1", "::ffff:10.0.0.1", "2002:7f00:1::", "2001:0:1::"),
)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_address_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_public_address_is_public(address: str) -> None:
    assert is_public(address)
