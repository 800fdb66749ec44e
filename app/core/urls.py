"""URLs and addresses of callers, whose form is not trusted: parts, origins, URLs to clone, public addresses."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlencode, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_CLONE_URL_LENGTH = 1_000
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(?P<port>[0-9]{1,5}))?/[a-z0-9._~%+@/,()=:-]+",
    re.IGNORECASE | re.ASCII,
)


def split_url(url: str) -> SplitResult:
    """Split a URL into its parts. All parts of a malformed URL (`http://[::1`) are empty."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")


def origin_of(url: str) -> str:
    """Return the origin of a URL as browsers write it: lower case, without a path and a default port.

    The result is empty for a malformed URL and for one without a host or with user information.
    """
    parts = split_url(url.lower())
    try:
        port = parts.port
    except ValueError:
        return ""
    if not parts.scheme or not parts.hostname or "@" in parts.netloc or port == 0:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, _DEFAULT_PORTS.get(parts.scheme)) else "")


def with_query(url: str, name: str, value: str) -> str:
    """Return a URL with an added query parameter. The other parameters and the fragment stay."""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode({name: value}))))
    return parts._replace(path=parts.path or "/", query=query).geturl()


@dataclass(frozen=True)
class CloneUrl:
    """A URL that may be cloned. `is_listed`: the operator permits the host, also with a private address."""

    url: str
    host: str
    port: int
    is_listed: bool


def parse_clone_url(url: str, hosts: Sequence[str]) -> CloneUrl | None:
    """Return the parts of a URL, or None if it must not be cloned.

    It is `https` without user information, query and fragment. `http` is permitted for the `hosts` of the operator
    only.
    """
    match = _URL.fullmatch(url) if len(url) <= MAX_CLONE_URL_LENGTH else None
    if match is None:
        return None
    scheme, host = match["scheme"].lower(), match["host"].lower()
    port = int(match["port"] or (443 if scheme == "https" else 80))
    is_listed = host in hosts or f"{host}:{port}" in hosts
    if not 0 < port < 1 << 16 or (scheme == "http" and not is_listed):
        return None
    return CloneUrl(url, host, port, is_listed)


def is_public(address: str) -> bool:
    """Return whether an address is on the public internet, also if it contains an IPv4 address."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(parsed, "ipv4_mapped", None) or getattr(parsed, "sixtofour", None)
    teredo = getattr(parsed, "teredo", None)
    return parsed.is_global and not parsed.is_multicast and (inner is None or inner.is_global) and teredo is None
