"""URLs and addresses of callers, whose form is not trusted: parts, origins, URLs to clone, public addresses."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlencode, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_CLONE_URL_LENGTH, MAX_HTTP_URL_LENGTH = 1_000, 2_048
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(?P<port>[0-9]{1,5}))?/[a-z0-9._~%+@/,()=:-]+",
    re.IGNORECASE | re.ASCII,
)
_HTTP_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<target>[/?][a-z0-9._~%!$&'()*+,;=:@/?-]*)?",
    re.IGNORECASE | re.ASCII,
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""The IPv6 addresses that IANA has assigned to hosts. All others are special or reserved."""
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
            *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "3fff::/20"),
        ),
    )
)
"""Blocks of the IANA special-purpose registries of 2025-10-09 that are not globally reachable, and multicast.

Python adds its tables, which depend on its version. Addresses of protocols in 192.0.0.0/24 and 2001::/23 are refused
too, also those that are reachable: no server of a user has one.
"""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


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


@dataclass(frozen=True)
class HttpUrl:
    """The parts of a URL that is called. `target` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def is_secure(self) -> bool:
        """True if the call uses TLS."""
        return self.scheme == "https"


def parse_http_url(url: str) -> HttpUrl | None:
    """Return the parts of an `http` or `https` URL, or None for another text.

    User information, a fragment, a zone id and characters that a URL must encode are refused.
    """
    match = _HTTP_URL.fullmatch(url) if len(url) <= MAX_HTTP_URL_LENGTH else None
    if match is None:
        return None
    scheme, host, target = match["scheme"].lower(), match["host"].lower().strip("[]"), match["target"] or "/"
    port = int(match["port"] or _DEFAULT_PORTS[scheme])
    is_literal = match["host"].startswith("[")
    if not 0 < port < 1 << 16 or (is_literal and _parsed(host) is None):
        return None
    return HttpUrl(scheme, host, port, target if target.startswith("/") else f"/{target}")


def is_ip_address(host: str) -> bool:
    """Return whether the host of a URL is an IP address."""
    return _parsed(host) is not None


def is_public(address: str) -> bool:
    """Return whether an address is on the public internet, also if it contains an IPv4 address."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    inner = _inner_address(parsed)
    if inner is not None:
        return is_public(str(inner))
    is_special = any(parsed in network for network in _SPECIAL) or (parsed.version == 6 and parsed not in _UNICAST)
    return parsed.is_global and not is_special


def is_in_networks(address: str, networks: Sequence[Network]) -> bool:
    """Return whether an address is in one of the networks."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    plain = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(plain in network for network in networks)


def _inner_address(address: Address) -> Address | None:
    """Return the IPv4 address in a mapped address, in one of 6to4 or in one of NAT64."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _parsed(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
