"""The `Link` header of paginated lists (RFC 8288)."""

import re

_LINK = re.compile(r"<([^<>]*+)>([^<]*+)")


def next_link(header: str) -> str:
    """Return the URL of the next page, or an empty text."""
    match = (url for url, about in _LINK.findall(header) if re.search(r';\s*rel="?next"?', about))
    return next(match, "")
