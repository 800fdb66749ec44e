"""Parts of content security policies: where scripts and styles of a page come from."""

import base64
import hashlib
import re

from flask import request

from app.core.urls import origin_of
from app.extensions import current_settings

_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?(:[0-9]{1,5})?")
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def sources_below(path: str) -> str:
    """Return the source expressions of the files below a path of this service.

    Uploads and files of repositories have the same origin, so `'self'` would permit them as scripts. A source with a
    path names its host: that of the request and that of BASE_URL, because a proxy may replace the header. The syntax
    has no IPv6 addresses; with one, the result is `'self'`.
    """
    base = origin_of(current_settings().server.base_url)
    host = request.host.lower()
    if not _HOST.fullmatch(host) or "[" in base:
        return "'self'"
    hosts = dict.fromkeys((host, base.partition("://")[2]))
    return " ".join(f"{name}{path}" for name in hosts if name)


def inline_script_sources(page: str) -> str:
    """Return the source expressions of the inline scripts of a page: their hashes."""
    digests = (hashlib.sha256(text.encode()).digest() for text in _INLINE_SCRIPT.findall(page))
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
