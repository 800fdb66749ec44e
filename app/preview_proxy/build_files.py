"""Responses with the files of a build: addresses of static sites, conditional requests and ranges.

Nothing of a build runs on the service. A build has no service worker: it would outlive the build in the browser.
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from itertools import takewhile
from urllib.parse import parse_qsl, quote
from wsgiref.types import WSGIEnvironment

from flask import Response
from werkzeug.http import parse_etags, parse_range_header

from app.content.page_addresses import files_at, lacks_slash
from app.core.limits import MIB
from app.database import transactions
from app.drivers.storage.port import ObjectStore
from app.models.site_build import ADDRESS_LABEL, SiteBuildFile
from app.preview_proxy import pages
from app.preview_proxy.headers import host_of
from app.resources.site_build import queries
from app.resources.site_build.page_comparison import PARAMETER, Counterpart, counterpart, with_marks
from app.resources.site_build.storing import object_key

SCRIPT_PATH = "/.galley/guest.js"
"""The script with which guests comment on a text."""

MISSING_PAGE, REDIRECTS = "404.html", "_redirects"
ROBOTS = "User-agent: *\nAllow: /\n"
"""Robots may read the pages, so that they see that the pages must not be listed."""
MAX_REDIRECTS_BYTES, MAX_RULES, MAX_TEXT_BYTES = 64 * 1024, 1_000, 5 * MIB
HEADERS = {
    "X-Robots-Tag": "noindex",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}
SAFE_IN_LOCATION = "/%?&=#:;,+@!$'()*~-._"
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_INTEGRITY = re.compile(
    rb"(<(?:script|link)\b[^<>]{1,2000}?)\sintegrity\s?=\s?(?:\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE
)
TEXT_TYPES = ("text/", "application/json", "application/xml", "image/svg+xml", "application/manifest+json")


@dataclass(frozen=True)
class BuiltSite:
    """A ready build: its id, its project, the store, and the public URL of the site, whose links stay in the build.

    For guests, `policy` is the content security policy, `script` the script that their pages contain, `url` the address
    of its host, and `change_set_id` the only change set whose changes are marked.
    """

    build_id: str
    project_id: str
    site_url: str | None
    store: ObjectStore
    policy: str = ""
    script: bytes = b""
    url: str = ""
    change_set_id: str | None = None

    def respond(self, environ: WSGIEnvironment) -> Response:
        """Return the response to a request. Calls the database and the store."""
        response = self._respond(environ)
        response.headers.update(HEADERS)
        if self.policy:
            response.headers["Content-Security-Policy"] = self.policy
        return response

    def _respond(self, environ: WSGIEnvironment) -> Response:
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return Response(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        if environ.get("HTTP_SERVICE_WORKER") == "script":
            return Response("A build has no service worker.\n", HTTPStatus.FORBIDDEN)
        path = environ.get("PATH_INFO", "/").encode("latin-1").decode(errors="replace").lstrip("/")
        if f"/{path}" == SCRIPT_PATH and self.script:
            return Response(self.script, mimetype="text/javascript")
        if path == "robots.txt":
            return Response(ROBOTS, mimetype="text/plain")
        names = files_at(path)
        files = queries.files(self.build_id, [*names, MISSING_PAGE, REDIRECTS])
        file = next((files[name] for name in names if name in files), None)
        if file is None or file.path == REDIRECTS:
            return self._missing(path, files, environ)
        if lacks_slash(path, file.path):
            return _redirect(_address(f"{path}/", environ), HTTPStatus.PERMANENT_REDIRECT)
        return self._file(file, environ)

    def _missing(self, path: str, files: dict[str, SiteBuildFile], environ: WSGIEnvironment) -> Response:
        """Return the redirect of the site, its page for missing addresses, or a plain page."""
        rules = files.get(REDIRECTS)
        rule = _rule(self._read(rules, MAX_REDIRECTS_BYTES).decode(errors="replace"), f"/{path}") if rules else None
        if rule is not None and rule[1] in REDIRECT_STATUSES:
            return _redirect(rule[0], rule[1])
        names = files_at(rule[0]) if rule is not None else [MISSING_PAGE]
        targets = queries.files(self.build_id, names)
        present = next((targets[name] for name in names if name in targets), None)
        substitute = present or files.get(MISSING_PAGE)
        if substitute is None:
            return pages.missing_page()
        is_rewritten = present is not None and rule is not None and rule[1] == HTTPStatus.OK
        status = HTTPStatus.OK if is_rewritten else HTTPStatus.NOT_FOUND
        return self._file(substitute, environ, status)

    def _file(self, file: SiteBuildFile, environ: WSGIEnvironment, status: int = HTTPStatus.OK) -> Response:
        other = self._counterpart(file, environ) if status == HTTPStatus.OK else None
        is_changed = self.site_url is not None or other is not None or bool(self.script)
        is_page = file.mimetype == "text/html" and is_changed and file.size <= MAX_TEXT_BYTES
        causes = f"{self.site_url or ''} {other.file.sha256 if other is not None else ''}".encode() + self.script
        tag = f"{file.sha256}-{zlib.crc32(causes):x}" if is_page else file.sha256
        if status == HTTPStatus.OK and parse_etags(environ.get("HTTP_IF_NONE_MATCH")).contains_weak(tag):
            response = Response(status=HTTPStatus.NOT_MODIFIED)
            response.set_etag(tag)
            return response
        is_text = file.mimetype.startswith(TEXT_TYPES) or "javascript" in file.mimetype
        is_read = is_text and file.size <= MAX_TEXT_BYTES
        stored = self._read(file, MAX_TEXT_BYTES) if is_read else b""
        content = with_marks(stored, other, self.store) if other is not None else stored
        content = _with_host(content, environ)
        if is_page:
            content = _local_links(content, self.site_url or "") + self._script_tag()
        is_complete = is_read and (content != stored or "HTTP_RANGE" not in environ)
        response = Response(content, status) if is_complete else self._content(file, environ, status)
        charset = "; charset=utf-8" if is_text else ""
        response.headers["Content-Type"] = file.mimetype + charset
        response.set_etag(tag)
        return response

    def _script_tag(self) -> bytes:
        """Return the tag of the script. The page can have a base URL. Browsers add it to the body of the page."""
        return f'<script src="{self.url.rstrip("/")}{SCRIPT_PATH}"></script>'.encode() if self.script else b""

    def _counterpart(self, file: SiteBuildFile, environ: WSGIEnvironment) -> Counterpart | None:
        """Return the other version of a page if the address names a change set."""
        query = dict(parse_qsl(environ.get("QUERY_STRING", "")))
        if query.get(PARAMETER) is None or file.mimetype != "text/html":
            return None
        if self.change_set_id not in (None, query[PARAMETER]):
            return None
        return counterpart(self.build_id, file, query[PARAMETER])

    def _content(self, file: SiteBuildFile, environ: WSGIEnvironment, status: int) -> Response:
        """Return the complete file or one range of it, read in pieces."""
        header = parse_range_header(environ.get("HTTP_RANGE")) if status == HTTPStatus.OK else None
        part = header.range_for_length(file.size) if header is not None else None
        if header is not None and part is None and header.units == "bytes" and len(header.ranges) == 1:
            missing = {"Content-Range": f"bytes */{file.size}"}
            return Response(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=missing)
        start, end = part or (0, file.size)
        is_head = environ["REQUEST_METHOD"] == "HEAD"
        response = Response(
            None if is_head else self._pieces(file, start, end - start), status, direct_passthrough=True
        )
        response.headers["Content-Length"] = str(end - start)
        response.headers["Accept-Ranges"] = "bytes"
        if part is not None:
            response.status_code = HTTPStatus.PARTIAL_CONTENT
            response.headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
        return response

    def _pieces(self, file: SiteBuildFile, start: int, length: int) -> Iterator[bytes]:
        with transactions.outside_transaction():
            return self.store.get(object_key(self.project_id, file.sha256), start=start, length=length)

    def _read(self, file: SiteBuildFile, max_bytes: int) -> bytes:
        return b"".join(self._pieces(file, 0, min(file.size, max_bytes)))


def _redirect(location: str, status: int) -> Response:
    return Response(status=status, headers={"Location": quote(location, safe=SAFE_IN_LOCATION)})


def _address(path: str, environ: WSGIEnvironment) -> str:
    query = environ.get("QUERY_STRING")
    return f"/{quote(path)}{f'?{query}' if query else ''}"


def _rule(text: str, path: str) -> tuple[str, int] | None:
    """Return the target and the status of the first rule of `_redirects` for a path: exact, or with `*` at the end.

    Targets are paths of the site. Rules with conditions, placeholders or other hosts are ignored.
    """
    for line in text.splitlines()[:MAX_RULES]:
        source, *target = [*takewhile(lambda part: not part.startswith("#"), line.split())] or [""]
        if not 1 <= len(target) <= 2 or not target[0].startswith("/") or target[0].startswith("//") or ":" in source:
            continue
        is_match = path.startswith(source[:-1]) if source.endswith("/*") else path.rstrip("/") == source.rstrip("/")
        status = target[1].rstrip("!") if len(target) == 2 else "301"
        if is_match and status.isdecimal() and len(status) == 3:
            splat = path[len(source) - 1 :] if source.endswith("/*") else ""
            return f"/{target[0].replace(':splat', splat, 1).lstrip('/')}", int(status)
    return None


def _with_host(content: bytes, environ: WSGIEnvironment) -> bytes:
    """Return a text whose links to the address of all builds lead to the host of the request.

    Scripts and styles with such links do not have the hashes that the page names, so it names none.
    """
    host = host_of(environ)
    changed = content.replace(f"{ADDRESS_LABEL}.{host.partition('.')[2]}".encode(), host.encode())
    return _INTEGRITY.sub(rb"\1", changed) if changed != content else content


def _local_links(content: bytes, site_url: str) -> bytes:
    """Return a page whose links to the published site are paths of this host."""
    _, _, host = site_url.rstrip("/").partition("://")
    if not host:
        return content
    published = rb"https?://" + re.escape(host.encode()) + rb"(?:/|(?=[\"'?#<\s&)]|$))"
    return re.sub(published, b"/", content)
