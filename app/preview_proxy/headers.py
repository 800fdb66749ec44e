"""Header filters for requests to a sandbox and for its responses."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, urlsplit
from wsgiref.types import WSGIEnvironment

from app.core.urls import split_url
from app.drivers.sandbox.port import Upstream
from app.preview_proxy import page_policy
from app.security.preview_links import COOKIE, SECURE_COOKIE

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
SERVICE_COOKIES = (COOKIE, SECURE_COOKIE, "session_token", "__Host-session_token")
NOT_PASSED_IN = HOP_BY_HOP | {"host", "cookie", "origin", "content-length", "expect", "forwarded", "x-real-ip", "proxy"}
NOT_PASSED_IN_FROM = ("x-forwarded-", "cf-connecting-", "true-client-")
"""Headers of proxies with the address of the visitor, which the site must not receive."""

NOT_PASSED_OUT = HOP_BY_HOP | {
    *("date", "server", "strict-transport-security", "alt-svc", "clear-site-data", "x-frame-options"),
}
NOT_PASSED_OUT_FROM = ("access-control-allow-credentials", "x-accel-", "x-sendfile", "x-lighttpd-", "x-reproxy-")
"""The last four prefixes instruct a reverse proxy to send one of its own files."""

CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
PLAIN_TARGET = re.compile(r"/[\x21-\x7e]*")
SAFE_IN_PATH = "/:@!$&'()*+,;=~-._%"


def host_of(environ: WSGIEnvironment) -> str:
    """Return the host name of a request without its port, in lower case."""
    return str(environ.get("HTTP_HOST", "")).lower().rpartition("@")[2].partition(":")[0].rstrip(".")


def target(environ: WSGIEnvironment) -> str:
    """Return path and query in the form of the browser if the server provides it."""
    raw = environ.get("RAW_URI")
    if raw is not None and PLAIN_TARGET.fullmatch(raw):
        return str(raw).partition("#")[0]
    path = quote(environ.get("PATH_INFO", "/").encode("latin-1"), safe=SAFE_IN_PATH) or "/"
    query = environ.get("QUERY_STRING")
    return f"{path}?{query}" if query else path


def request_head(environ: WSGIEnvironment, upstream: Upstream, *additional: tuple[str, str]) -> bytes:
    """Return the request line and the headers for the server in the sandbox.

    Host and Origin name that server, because development servers reject requests of other origins.
    """
    options = {option.strip().lower() for option in environ.get("HTTP_CONNECTION", "").split(",")}
    excluded = NOT_PASSED_IN | options | {name.lower() for name in upstream.headers}
    passed = ((name, value) for name, value in _headers_of(environ) if name not in excluded)
    headers = [("Host", upstream.host)]
    headers += [(name, value) for name, value in passed if not name.startswith(NOT_PASSED_IN_FROM)]
    headers += [("X-Forwarded-Host", environ.get("HTTP_HOST", "")), ("X-Forwarded-Proto", environ["wsgi.url_scheme"])]
    if "HTTP_ORIGIN" in environ:
        headers.append(("Origin", _origin(environ, upstream)))
    cookie = _cookies(environ.get("HTTP_COOKIE", ""))
    headers += [("Cookie", cookie)] if cookie else []
    headers += [*upstream.headers.items(), *additional]
    lines = [
        f"{environ['REQUEST_METHOD']} {target(environ)} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def response_headers(
    headers: Iterable[tuple[str, str]], upstream: Upstream, *, frame_ancestors: str
) -> list[tuple[str, str]]:
    """Return the headers for the visitor, without hop-by-hop headers, cookies of other hosts and internal URLs.

    The site does not decide about frames: `frame_ancestors` are the origins that may frame its pages.
    """
    passed = [("X-Robots-Tag", "noindex"), ("Content-Security-Policy", f"frame-ancestors {frame_ancestors}")]
    for name, value in headers:
        lower = name.lower()
        if lower in NOT_PASSED_OUT or lower.startswith(NOT_PASSED_OUT_FROM) or CONTROLS.search(name + value):
            continue
        if lower == "set-cookie":
            passed += [(name, cookie) for cookie in _host_cookie(value)]
        elif lower in page_policy.HEADERS:
            passed += [(name, policy) for policy in filter(None, [page_policy.without_frame_ancestors(value)])]
        else:
            passed.append((name, _public_url(value, upstream) if lower in ("location", "content-location") else value))
    return passed


def _headers_of(environ: WSGIEnvironment) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        if name.startswith("HTTP_"):
            yield name[5:].replace("_", "-").lower(), value
    if environ.get("CONTENT_TYPE"):
        yield "content-type", environ["CONTENT_TYPE"]


def _origin(environ: WSGIEnvironment, upstream: Upstream) -> str:
    """Return the origin of the server for requests of the preview itself, and any other origin unchanged."""
    origin = str(environ["HTTP_ORIGIN"])
    same = split_url(origin).netloc.lower() == environ.get("HTTP_HOST", "").lower()
    return upstream.origin if same else origin


def _cookies(header: str) -> str:
    pairs = [pair.strip() for pair in header.split(";")]
    return "; ".join(pair for pair in pairs if pair and pair.partition("=")[0].strip() not in SERVICE_COOKIES)


def _host_cookie(value: str) -> Iterator[str]:
    """Yield the cookie, limited to the preview host, unless its name belongs to the service."""
    first, *attributes = value.split(";")
    name, _, _ = first.partition("=")
    if name.strip() and name.strip() not in SERVICE_COOKIES:  # browsers send a nameless cookie as its value only
        yield ";".join(
            [first, *(attribute for attribute in attributes if not attribute.strip().lower().startswith("domain"))]
        )


def _public_url(value: str, upstream: Upstream) -> str:
    """Replace a URL of the server in the sandbox by its path. Other URLs stay unchanged."""
    parts = split_url(value)
    if parts.netloc not in (upstream.host, urlsplit(upstream.origin).netloc):
        return value
    return (
        (parts.path or "/")
        + (f"?{parts.query}" if parts.query else "")
        + (f"#{parts.fragment}" if parts.fragment else "")
    )
