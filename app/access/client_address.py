"""The client address for sessions and rate limits: the peer, or the nth hop from the right behind proxies."""

import ipaddress
from functools import lru_cache

from flask import Request

LENGTH = 64
ADDRESS_CACHE_SIZE = 1024
"""Parsing an address costs more than counting it."""

V6_NETWORK_BITS = 64


def client_address(request: Request, *, trusted_hops: int) -> str | None:
    """Return the address of the client. IPv4 addresses inside IPv6 are unfolded.

    With n trusted hops, the nth entry of `X-Forwarded-For` from the right counts: the outermost trusted proxy wrote it.
    The entries before it come from the client. With fewer than n entries, the first one counts.
    """
    address = request.remote_addr
    if trusted_hops:
        hops = [part.strip() for value in request.headers.getlist("X-Forwarded-For") for part in value.split(",")]
        address = hops[-min(trusted_hops, len(hops))] if hops else address
    return _plain(address)


@lru_cache(ADDRESS_CACHE_SIZE)
def network_of(address: str | None) -> str:
    """Return the key of the rate limits: an IPv4 address, or the /64 network of an IPv6 subscriber."""
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return "unknown"
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, V6_NETWORK_BITS), strict=False))


@lru_cache(ADDRESS_CACHE_SIZE)
def _plain(address: str | None) -> str | None:
    """Return an address without port, brackets and zone. Other text is cut to `LENGTH` characters."""
    text = (address or "").strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text[:LENGTH] or None
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed)
