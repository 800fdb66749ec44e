"""The script in the pages of an editable preview: which responses receive it, with which headers."""

import secrets
from dataclasses import dataclass
from functools import partial
from html import escape
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from flask import Request, Response

from app.console.shell.static_files import UNCHANGED, BuiltFile, built_file
from app.core.urls import origin_of
from app.http.caching import precompressed_response
from app.preview_proxy import page_policy, pages
from app.preview_proxy.page_head import HeadInsertion
from app.resources.sandbox.lifecycle import PreviewUrls
from config import Settings

PREFIX = "/_galley/"
"""Paths that an editable preview does not pass to the site."""
NAME = "page-marks.js"

CONDITIONS = ("HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_RANGE", "HTTP_RANGE")
NOT_OF_PAGE = {
    *("content-length", "etag", "last-modified", "accept-ranges", "cache-control", "expires"),
    *("content-md5", "digest", "content-digest", "repr-digest"),
}
"""Headers that do not apply to a page with the script. Without an ETag there is no 304."""
OTHER_CHARSETS = ("utf-16", "utf-32", "utf-7", "ucs-2", "unicode", "iso-10646", "csunicode", "iso-2022", "csiso2022")
"""The begin of names of encodings that do not contain ASCII. Names of UTF-8 that begin so are rare."""

Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class PageScript:
    """The script that finds the marks of a page. Marks are the numbers from `first` to `last`.

    `url` is its address on the host of the preview, and `console_origin` the only origin to which it sends.
    """

    url: str
    console_origin: str
    first: int
    last: int
    file: BuiltFile

    @classmethod
    def of(cls, settings: Settings, label: str, *, first: int, last: int) -> "PageScript | None":
        """Return the script of an editable preview, or None if the assets were not built."""
        file = built_file(NAME)
        if file is None:
            return None
        urls = PreviewUrls.of(settings)
        url = urls.address(label).url.rstrip("/") + PREFIX + NAME
        return cls(url, origin_of(urls.base_url), first, last, file)

    def respond(self, environ: WSGIEnvironment) -> Response:
        """Return the response to a request below `PREFIX`."""
        if environ.get("PATH_INFO") != PREFIX + NAME:
            return pages.missing_page()
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return Response(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        response = precompressed_response(Request(environ), self.file, tag=None)
        response.mimetype = "text/javascript"
        response.headers.update(
            {"Cache-Control": f"private, {UNCHANGED}", "X-Content-Type-Options": "nosniff", "X-Robots-Tag": "noindex"}
        )
        return response

    def element(self, nonce: str) -> bytes:
        """Return the element of a page. Its address is absolute, because the page can have another base URL."""
        attributes = {
            "src": f"{self.url}?v={self.file.path.stem}",
            "nonce": nonce,
            "data-console": self.console_origin,
            "data-first": str(self.first),
            "data-last": str(self.last),
        }
        written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        return f"<script{written}></script>".encode()

    def insert(self, status: int, headers: Headers) -> tuple[Headers, HeadInsertion | None]:
        """Return the headers of a navigation with the script and its insertion, or the same headers and None."""
        if not _is_page(status, headers):
            return headers, None
        nonce = secrets.token_urlsafe(16)
        passed = [
            (name, page_policy.permit_script(value, self.url, nonce) if name.lower() in page_policy.HEADERS else value)
            for name, value in headers
            if name.lower() not in NOT_OF_PAGE
        ]
        permit = partial(page_policy.permit_in_meta, url=self.url, nonce=nonce)
        return [*passed, ("Cache-Control", "private, no-cache")], HeadInsertion(self.element(nonce), permit)


def is_navigation(environ: WSGIEnvironment) -> bool:
    """Return True if the browser shows the response as a page."""
    purpose = environ.get("HTTP_SEC_FETCH_DEST")
    if purpose is not None:
        return purpose in ("document", "iframe")
    return "text/html" in environ.get("HTTP_ACCEPT", "").lower()


def unconditional(environ: WSGIEnvironment) -> WSGIEnvironment:
    """Return a request for the complete page without compression."""
    passed = {name: value for name, value in environ.items() if name not in CONDITIONS}
    return {**passed, "HTTP_ACCEPT_ENCODING": "identity"}


def vary(headers: Headers) -> Headers:
    """Return the headers of a response. Pages are stored for navigations or for other requests of a browser."""
    return [*headers, ("Vary", "Sec-Fetch-Dest")] if _media_type(headers)[0] == "text/html" else headers


def _is_page(status: int, headers: Headers) -> bool:
    """Return True for a complete, uncompressed HTML page that may run scripts."""
    is_shown = status >= HTTPStatus.BAD_REQUEST or HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    if not is_shown or status == HTTPStatus.PARTIAL_CONTENT:
        return False
    media_type, charset = _media_type(headers)
    if media_type != "text/html" or charset.startswith(OTHER_CHARSETS):
        return False
    if any(value.lower() not in ("", "identity") for value in _values(headers, "content-encoding")):
        return False
    if any(value.lower().startswith("attachment") for value in _values(headers, "content-disposition")):
        return False
    return not any(map(page_policy.forbids_scripts, _values(headers, page_policy.HEADERS[0])))


def _media_type(headers: Headers) -> tuple[str, str]:
    """Return the media type and the charset, or empty texts if a response has not exactly one type."""
    values = _values(headers, "content-type")
    if len(values) != 1:
        return "", ""
    media_type, _, parameters = values[0].lower().partition(";")
    pairs = (part.partition("=") for part in parameters.split(";"))
    charset = next((value for name, _, value in pairs if name.strip() == "charset"), "")
    return media_type.strip(), charset.strip(" \t\"'")


def _values(headers: Headers, name: str) -> list[str]:
    return [value.strip() for header, value in headers if header.lower() == name]
