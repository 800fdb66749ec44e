"""Rules for the URLs of repositories that are cloned. Only URLs that Git and Python read alike are accepted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LENGTH = 1_000
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(?P<port>[0-9]{1,5}))?/[a-z0-9._~%+@/,()=:-]+",
    re.IGNORECASE | re.ASCII,
)


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
    match = _URL.fullmatch(url) if len(url) <= MAX_LENGTH else None
    if match is None:
        return None
    scheme, host = match["scheme"].lower(), match["host"].lower()
    port = int(match["port"] or (443 if scheme == "https" else 80))
    is_listed = host in hosts or f"{host}:{port}" in hosts
    if not 0 < port < 1 << 16 or (scheme == "http" and not is_listed):
        return None
    return CloneUrl(url, host, port, is_listed)
