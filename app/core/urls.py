"""Addresses as callers give them: nothing of them is trusted to be one."""

from urllib.parse import SplitResult, urlsplit

_USUAL_PORTS = {"http": 80, "https": 443}


def parts_of(url: str) -> SplitResult:
    """The parts of an address; all of them empty for what cannot be taken apart (`http://[::1`)."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")


def origin_of(url: str) -> str:
    """An address's origin as browsers write it: lower case, no path, no port that goes without saying.

    Empty for what has none: no address, one without a host, or with somebody's name in it.
    """
    parts = parts_of(url.lower())
    try:
        port = parts.port
    except ValueError:
        return ""
    if not parts.scheme or not parts.hostname or "@" in parts.netloc or port == 0:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, _USUAL_PORTS.get(parts.scheme)) else "")
