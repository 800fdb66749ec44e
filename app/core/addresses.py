"""Addresses of the public internet. A call to an address that a user names goes to public addresses only."""

import ipaddress


def is_public(address: str) -> bool:
    """Return whether an address is on the public internet, also if it contains an IPv4 address."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(parsed, "ipv4_mapped", None) or getattr(parsed, "sixtofour", None)
    teredo = getattr(parsed, "teredo", None)
    return parsed.is_global and not parsed.is_multicast and (inner is None or inner.is_global) and teredo is None
