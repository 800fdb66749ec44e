"""The address of the client, for sessions and rate limits: the peer, or the nth hop from the right behind proxies."""

import ipaddress
from functools import lru_cache

from flask import Request

LENGTH = 64
REMEMBERED = 1024
"""Of so many addresses it is known what they mean: reading one costs more than all else of counting it."""

V6_NETWORK_BITS = 64


def client_address(request: Request, *, trusted_hops: int) -> str | None:
    """Who called, as far as our own proxies tell it; IPv4 in its own form also where it came inside IPv6.

    With n trusted hops the nth entry of `X-Forwarded-For` from the right counts, which is what the outermost of our
    proxies wrote; entries left of it are the client's own words. With fewer entries than that the leftmost counts.
    """
    told = request.remote_addr
    if trusted_hops:
        hops = [part.strip() for value in request.headers.getlist("X-Forwarded-For") for part in value.split(",")]
        told = hops[-min(trusted_hops, len(hops))] if hops else told
    return _plain(told)


@lru_cache(REMEMBERED)
def network_of(address: str | None) -> str:
    """What rates are counted by: an IPv4 address, or the /64 that one IPv6 subscriber has."""
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return "unknown"
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, V6_NETWORK_BITS), strict=False))


@lru_cache(REMEMBERED)
def _plain(told: str | None) -> str | None:
    """An address without port, brackets and zone; text that is none is kept, cut short."""
    text = (told or "").strip()
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
