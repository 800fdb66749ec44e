"""Masking of credentials in text that operators read: settings, error messages and log lines."""

import re

MASK = "********"
_TOKEN = re.compile(r"\S+")
_QUERY = re.compile(r"[?#].+")


def mask_credentials(text: str) -> str:
    """Replace the user-info and the query of each URL in a text, also of malformed URLs and of `user:password@host`."""
    if not any(sign in text for sign in "@?#"):
        return text
    return _TOKEN.sub(lambda match: _masked(match[0]), text)


def _masked(token: str) -> str:
    """Mask a text without spaces. It starts to be a URL at its first `://`."""
    scheme, separator, remaining = token.partition("://")
    prefix, url = (scheme + separator, remaining) if separator else ("", token)
    user_info, at, host = url.rpartition("@")
    if at and (separator or ":" in user_info):
        prefix, url = f"{prefix}{MASK}@", host
    query = _QUERY.search(url)
    if query is not None and (separator or "=" in query[0]):
        url = f"{url[: query.start() + 1]}{MASK}"
    return prefix + url
