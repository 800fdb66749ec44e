"""What of a request goes into a sandbox and what of its answer comes out."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from app.core.preview_links import COOKIE, SECURE_COOKIE
from app.core.urls import parts_of
from app.drivers.sandbox.port import Upstream

HOP_BY_HOP = frozenset(
    [
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
OURS = (COOKIE, SECURE_COOKIE, "session_token", "__Host-session_token")
NOT_PASSED_IN = HOP_BY_HOP | {"host", "cookie", "origin", "content-length", "expect", "forwarded", "x-real-ip", "proxy"}
NOT_PASSED_IN_FROM = ("x-forwarded-", "cf-connecting-", "true-client-")
"""What others before us wrote of the visitor; a site of somebody's repository need not know their address."""

NOT_PASSED_OUT = HOP_BY_HOP | {"date", "server", "strict-transport-security", "alt-svc", "clear-site-data"}
NOT_PASSED_OUT_FROM = ("access-control-allow-credentials", "x-accel-", "x-sendfile", "x-lighttpd-", "x-reproxy-")
"""The others are orders to a web server before us: to send a file of its own instead."""

CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
PLAIN_TARGET = re.compile(r"/[\x21-\x7e]*")
SAFE_IN_PATH = "/:@!$&'()*+,;=~-._%"


def target(environ: Mapping[str, Any]) -> str:
    """Path and query as the browser wrote them, where the server tells."""
    raw = environ.get("RAW_URI")
    if raw is not None and PLAIN_TARGET.fullmatch(raw):
        return str(raw).partition("#")[0]
    path = quote(environ.get("PATH_INFO", "/").encode("latin-1"), safe=SAFE_IN_PATH) or "/"
    query = environ.get("QUERY_STRING")
    return f"{path}?{query}" if query else path


def head(environ: Mapping[str, Any], upstream: Upstream, *more: tuple[str, str]) -> bytes:
    """The request line and headers for the server inside.

    Host and Origin are the server's own: development servers refuse what looks like another site's page.
    """
    kept_out = NOT_PASSED_IN | _connection_words(environ) | {name.lower() for name in upstream.headers}
    passed = ((name, value) for name, value in _given(environ) if name not in kept_out)
    headers = [("Host", upstream.host)]
    headers += [(name, value) for name, value in passed if not name.startswith(NOT_PASSED_IN_FROM)]
    headers += [("X-Forwarded-Host", environ.get("HTTP_HOST", "")), ("X-Forwarded-Proto", environ["wsgi.url_scheme"])]
    if "HTTP_ORIGIN" in environ:
        headers.append(("Origin", _origin(environ, upstream)))
    cookie = _cookies(environ.get("HTTP_COOKIE", ""))
    headers += [("Cookie", cookie)] if cookie else []
    headers += [*upstream.headers.items(), *more]
    lines = [
        f"{environ['REQUEST_METHOD']} {target(environ)} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def answered(headers: Iterable[tuple[str, str]], upstream: Upstream) -> list[tuple[str, str]]:
    """The headers of the answer: nothing of one hop, no cookie for other hosts, no way to the server's inner address."""
    passed = [("X-Robots-Tag", "noindex")]
    for name, value in headers:
        lower = name.lower()
        if lower in NOT_PASSED_OUT or lower.startswith(NOT_PASSED_OUT_FROM) or CONTROLS.search(name + value):
            continue
        if lower == "set-cookie":
            passed += [(name, kept) for kept in _own_cookie(value)]
        else:
            passed.append((name, _outer(value, upstream) if lower in ("location", "content-location") else value))
    return passed


def _given(environ: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        if name.startswith("HTTP_"):
            yield name[5:].replace("_", "-").lower(), value
    if environ.get("CONTENT_TYPE"):
        yield "content-type", environ["CONTENT_TYPE"]


def _connection_words(environ: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in environ.get("HTTP_CONNECTION", "").split(","))


def _origin(environ: Mapping[str, Any], upstream: Upstream) -> str:
    """The preview's own origin becomes the server's own; any other stays what it is."""
    given = str(environ["HTTP_ORIGIN"])
    same = parts_of(given).netloc.lower() == environ.get("HTTP_HOST", "").lower()
    return upstream.origin if same else given


def _cookies(header: str) -> str:
    pairs = [pair.strip() for pair in header.split(";")]
    return "; ".join(pair for pair in pairs if pair and pair.partition("=")[0].strip() not in OURS)


def _own_cookie(value: str) -> Iterator[str]:
    """A site may set cookies of its own host, and not those that are ours."""
    first, *attributes = value.split(";")
    name, _, _ = first.partition("=")
    if name.strip() and name.strip() not in OURS:  # one without a name would be sent as if its value began with one
        yield ";".join([first, *(each for each in attributes if not each.strip().lower().startswith("domain"))])


def _outer(value: str, upstream: Upstream) -> str:
    """An address of the server inside as one of the preview."""
    parts = parts_of(value)
    if parts.netloc not in (upstream.host, urlsplit(upstream.origin).netloc):
        return value
    return (
        (parts.path or "/")
        + (f"?{parts.query}" if parts.query else "")
        + (f"#{parts.fragment}" if parts.fragment else "")
    )
