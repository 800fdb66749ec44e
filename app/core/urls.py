"""Functions for URLs of callers. Their form is not trusted."""

from urllib.parse import SplitResult, urlencode, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


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
