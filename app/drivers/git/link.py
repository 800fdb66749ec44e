"""The `Link` header of paginated lists (RFC 8288), as far as Git hosts use it."""

import re

_LINK = re.compile(r"<([^>]*)>([^<]*)")


def next_link(header: str) -> str:
    """The URL of the next page, empty when there is none."""
    found = (url for url, about in _LINK.findall(header) if re.search(r';\s*rel="?next"?', about))
    return next(found, "")
