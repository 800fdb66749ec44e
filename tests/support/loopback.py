"""Guard of the whole test run: connections to addresses that are not loopback raise."""

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest


class OutsideConnectionError(AssertionError):
    """A connection from a test to an address outside this machine."""


def require_loopback(family: int, address: Any) -> None:
    """Raise for an Internet address that is not loopback.

    Raises:
        OutsideConnectionError: the host of `address` is neither `localhost` nor a loopback address.
    """
    if family not in (socket.AF_INET, socket.AF_INET6):
        return
    host = str(address[0])
    if host == "localhost":
        return
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise OutsideConnectionError(f"a test connects to {host}")


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    """Refuse connections of this process to other machines."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        yield


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        require_loopback(self.family, address)
        return connect(self, address)

    return guarded
