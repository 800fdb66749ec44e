"""Tests of the proxy with a loopback server that sends exact bytes: the script in the pages of an editable preview."""

import gzip
import re
import socket
import threading
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder, run_wsgi_app

from app.console.shell.static_files import BuiltFile
from app.drivers.sandbox.port import Upstream
from app.preview_proxy.http_exchange import proxy_request
from app.preview_proxy.page_script import PageScript, is_navigation
from tests.support.pace import within

URL = "https://label.preview.example.org/_galley/page-marks.js"
ANCESTORS = "'self' https://galley.example.org"
SCRIPT = PageScript(URL, "https://galley.example.org", 7, 99, BuiltFile(Path("/none/page-marks-AB.js")))
NAVIGATION = {"Sec-Fetch-Dest": "iframe", "Accept-Encoding": "gzip, br"}
PAGE = b"<!doctype html><head><title>A</title></head><body>B</body>"
HTML = "Content-Type: text/html; charset=utf-8"
MIB = 1024 * 1024


@dataclass
class Received:
    """A response of the proxy, and the request that the server received."""

    status: str
    headers: Headers
    body: bytes
    request: str


def response_of(
    body: Iterable[bytes] | bytes,
    *headers: str,
    status: str = "200 OK",
    method: str = "GET",
    script: PageScript | None = SCRIPT,
    sent: dict[str, str] = NAVIGATION,
) -> Received:
    """Return the response of the proxy to a request if the server sends these headers and pieces."""
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1")
    requests: list[bytes] = []
    proxy_end, site_end = socket.socketpair()

    def serve() -> None:
        with site_end, suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                request += site_end.recv(65_536)
            requests.append(request)
            for piece in [head, *([body] if isinstance(body, bytes) else body)]:
                site_end.sendall(piece)

    serving = threading.Thread(target=serve)
    serving.start()
    environ = EnvironBuilder("/page", "https://label.preview.example.org", method=method, headers=sent).get_environ()
    upstream = Upstream(proxy_end, "localhost:3000", "http://localhost:3000")

    def application(environ, start_response):  # type: ignore[no-untyped-def]
        return proxy_request(
            environ,
            start_response,
            upstream,
            allowed=lambda: True,
            check_s=within(30),
            frame_ancestors=ANCESTORS,
            script=script,
        )

    pieces, status_out, headers_out = run_wsgi_app(application, environ, buffered=True)
    serving.join()
    return Received(status_out, headers_out, b"".join(pieces), requests[0].decode("latin-1"))


def element_in(body: bytes) -> bytes:
    match = re.search(rb"<script src=\"https://label[^>]*></script>", body)
    assert match is not None, body
    return match[0]


def test_page_contains_the_script_at_the_end_of_its_head() -> None:
    received = response_of(PAGE, HTML, f"Content-Length: {len(PAGE)}")
    element = element_in(received.body)
    assert received.body == PAGE.replace(b"</head>", element + b"</head>")
    nonce = re.search(rb'nonce="([\w-]{22})"', element)
    assert nonce is not None
    expected = f'<script src="{URL}?v=page-marks-AB" nonce="{nonce[1].decode()}" data-console="https://galley.example.org" data-first="7" data-last="99"></script>'
    assert element.decode() == expected
    assert "Content-Length" not in received.headers


def test_page_in_slow_pieces_contains_the_script() -> None:
    pieces = [PAGE[start : start + 1] for start in range(len(PAGE))]
    received = response_of(pieces, HTML)
    assert received.body.replace(element_in(received.body), b"") == PAGE


def test_page_in_chunks_contains_the_script_before_the_end_of_the_response() -> None:
    """The reader has the piece before the server sends the next."""
    chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (PAGE[:40], PAGE[40:])]
    received = response_of([*chunks, b"0\r\n\r\n"], HTML, "Transfer-Encoding: chunked")
    assert received.body.replace(element_in(received.body), b"") == PAGE


def test_incomplete_page_ends_the_connection() -> None:
    with pytest.raises(ConnectionResetError):
        response_of(PAGE, HTML, "Content-Length: 1000")


@pytest.mark.parametrize("start", [PAGE, b"<head>", b"<head><title>", b"<p>"])
def test_memory_is_flat_for_a_large_page(start: bytes) -> None:
    def body() -> Iterator[bytes]:
        yield start
        for _ in range(50):
            yield bytes(MIB)

    tracemalloc.start()
    try:
        pieces = count_bytes(body())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert pieces >= 50 * MIB
    assert peak < 10 * MIB


def count_bytes(body: Iterable[bytes]) -> int:
    """Return the size of a response that is read in pieces."""
    proxy_end, site_end = socket.socketpair()

    def serve() -> None:
        with site_end:
            site_end.recv(65_536)
            site_end.sendall(f"HTTP/1.1 200 OK\r\n{HTML}\r\n\r\n".encode())
            for piece in body:
                site_end.sendall(piece)

    serving = threading.Thread(target=serve)
    serving.start()
    environ = EnvironBuilder("/page", headers=NAVIGATION).get_environ()
    pieces = proxy_request(
        environ,
        lambda *_: lambda _: None,
        Upstream(proxy_end, "localhost:3000", "http://localhost:3000"),
        allowed=lambda: True,
        check_s=within(30),
        frame_ancestors=ANCESTORS,
        script=SCRIPT,
    )
    size = sum(map(len, pieces))
    pieces.close()  # type: ignore[attr-defined]
    serving.join()
    return size


class TestUnchanged:
    """Responses without the script. They are what the server sent."""

    @pytest.mark.parametrize(
        "headers",
        [
            ["Content-Type: text/plain"],
            ["Content-Type: application/xhtml+xml"],
            ["Content-Type: text/html; charset=UTF-16LE"],
            ['Content-Type: text/html; a=b; charset="utf-16"'],
            ["Content-Type: text/html;charset=iso-2022-jp"],
            [],
            [HTML, HTML],
            [HTML, "Content-Encoding: br"],
            [HTML, "Content-Disposition: Attachment; filename=a.html"],
            [HTML, "Content-Security-Policy: default-src *; sandbox allow-forms"],
        ],
    )
    def test_response_is_unchanged(self, headers: list[str]) -> None:
        received = response_of(PAGE, *headers, 'ETag: "a"', f"Content-Length: {len(PAGE)}")
        assert received.body == PAGE
        assert received.headers["ETag"] == '"a"'
        assert received.headers["Content-Length"] == str(len(PAGE))

    def test_compressed_page_is_unchanged(self) -> None:
        page = gzip.compress(PAGE)
        assert response_of(page, HTML, "Content-Encoding: gzip").body == page

    @pytest.mark.parametrize("status", ["206 Partial Content", "302 Found", "301 Moved"])
    def test_response_with_another_status_is_unchanged(self, status: str) -> None:
        assert response_of(PAGE, HTML, status=status).body == PAGE

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
    def test_page_that_only_its_bytes_name_as_another_encoding_is_unchanged(self, encoding: str) -> None:
        page = PAGE.decode().encode(encoding)
        assert response_of(page, "Content-Type: text/html").body == page

    @pytest.mark.parametrize("sent", [{"Sec-Fetch-Dest": "empty", "Accept": "text/html"}, {"Accept": "*/*"}, {}])
    def test_request_that_is_no_navigation_is_unchanged(self, sent: dict[str, str]) -> None:
        conditions = {"If-None-Match": '"a"', "Range": "bytes=0-3", "Accept-Encoding": "gzip"}
        received = response_of(PAGE, HTML, 'ETag: "a"', sent=sent | conditions)
        assert (received.body, received.headers["ETag"]) == (PAGE, '"a"')
        assert received.headers["Vary"] == "Sec-Fetch-Dest"
        for name, value in conditions.items():
            assert f"{name}: {value}".lower() in received.request.lower()

    def test_plain_preview_is_unchanged(self) -> None:
        received = response_of(PAGE, HTML, 'ETag: "a"', f"Content-Length: {len(PAGE)}", "Vary: a", script=None)
        assert received.body == PAGE
        assert list(received.headers)[2:] == [
            ("Content-Type", "text/html; charset=utf-8"),
            ("ETag", '"a"'),
            ("Content-Length", str(len(PAGE))),
            ("Vary", "a"),
        ]
        assert "accept-encoding: gzip, br" in received.request

    @pytest.mark.parametrize("headers", [[f"Content-Length: {len(PAGE)}"], []])
    def test_head_has_no_body(self, headers: list[str]) -> None:
        received = response_of(b"", HTML, *headers, method="HEAD")
        assert received.body == b""
        assert "Content-Length" not in received.headers, "the page with the script is longer"

    @pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
    def test_response_without_a_body_has_none(self, status: str) -> None:
        assert response_of(b"", HTML, status=status).body == b""


class TestPage:
    """Requests and headers of pages with the script."""

    def test_request_asks_for_the_complete_page_without_compression(self) -> None:
        conditions = {"If-None-Match": '"a"', "If-Modified-Since": "x", "Range": "bytes=0-3", "If-Range": "x"}
        request = response_of(PAGE, HTML, sent=NAVIGATION | conditions).request.lower()
        assert "accept-encoding: identity\r\n" in request
        assert not any(f"\n{name.lower()}:" in request for name in conditions)

    def test_response_has_no_headers_of_the_page_without_the_script(self) -> None:
        removed = ['ETag: "a"', "Last-Modified: x", "Accept-Ranges: bytes", "Digest: a", "Cache-Control: max-age=9"]
        received = response_of(PAGE, HTML, *removed, "X-Site: a")
        names = {name.lower() for name, _ in received.headers}
        assert names == {"x-robots-tag", "content-security-policy", "content-type", "x-site", "vary", "cache-control"}
        assert received.headers["Cache-Control"] == "private, no-cache"

    @pytest.mark.parametrize("status", ["201 Created", "404 Not Found", "500 Internal Server Error"])
    def test_page_with_another_status_contains_the_script(self, status: str) -> None:
        received = response_of(PAGE, HTML, status=status)
        assert received.status == status.upper() or received.status == status
        assert element_in(received.body)

    def test_navigation_of_an_old_browser_contains_the_script(self) -> None:
        assert element_in(response_of(PAGE, HTML, sent={"Accept": "Text/HTML,*/*;q=0.8"}).body)

    @pytest.mark.parametrize("purpose", ["document", "iframe", "image", "empty", "script", "embed"])
    def test_purpose_decides_before_the_accepted_types(self, purpose: str) -> None:
        environ = {"HTTP_SEC_FETCH_DEST": purpose, "HTTP_ACCEPT": "text/html"}
        assert is_navigation(environ) is (purpose in ("document", "iframe"))

    @pytest.mark.parametrize("charset", ["windows-1252", "shift_jis", "unknown", '"utf-8"'])
    def test_page_in_an_encoding_with_ascii_contains_the_script(self, charset: str) -> None:
        page = b"<title>\xe9\x83\x5c</title><p>\xff"
        body = response_of(page, f"Content-Type: Text/HTML ;charset={charset}").body
        assert body == page.replace(b"<p>", element_in(body) + b"<p>")

    def test_attributes_are_escaped(self) -> None:
        script = replace(SCRIPT, console_origin='"><b>')
        assert b'data-console="&quot;&gt;&lt;b&gt;"' in response_of(PAGE, HTML, script=script).body


class TestPolicies:
    """Policies of the site in headers and in the page."""

    def test_frames_are_permitted_for_the_console_only(self) -> None:
        sent = ["X-Frame-Options: DENY", "Content-Security-Policy: frame-ancestors 'none'; img-src *"]
        received = response_of(PAGE, HTML, *sent, "Content-Security-Policy: frame-ancestors a", script=None)
        assert "X-Frame-Options" not in received.headers
        policies = received.headers.getlist("Content-Security-Policy")
        assert policies == [f"frame-ancestors {ANCESTORS}", "img-src *"]

    def test_policies_in_headers_and_page_permit_the_script(self) -> None:
        page = b"<head><meta http-equiv=content-security-policy content=\"default-src 'strict-dynamic'\"></head>"
        policies = [
            "Content-Security-Policy: script-src 'nonce-a' 'strict-dynamic'",
            "Content-Security-Policy: script-src 'unsafe-inline', default-src 'none'",
            "Content-Security-Policy-Report-Only: script-src b",
        ]
        received = response_of(page, HTML, *policies)
        nonce = re.search(rb'nonce="([\w-]+)"', element_in(received.body))
        assert nonce is not None
        source = f"'nonce-{nonce[1].decode()}'"
        assert received.headers.getlist("Content-Security-Policy") == [
            f"frame-ancestors {ANCESTORS}",
            f"script-src 'nonce-a' 'strict-dynamic' {source}",
            f"script-src 'unsafe-inline' {URL}, default-src 'none'; script-src {URL}",
        ]
        assert received.headers["Content-Security-Policy-Report-Only"] == f"script-src b {URL}"
        assert f"script-src &#x27;strict-dynamic&#x27; {source}".replace("'", "&#x27;").encode() in received.body

    def test_request_that_is_no_navigation_has_the_policy_of_the_site(self) -> None:
        received = response_of(PAGE, HTML, "Content-Security-Policy: script-src a", sent={})
        assert received.headers.getlist("Content-Security-Policy")[1:] == ["script-src a"]


class TestFile:
    """The file of the script on the host of the preview."""

    @pytest.fixture
    def script(self, tmp_path: Path) -> PageScript:
        file = tmp_path / "page-marks-AB.js"
        file.write_text("script")
        file.with_name("page-marks-AB.js.gz").write_bytes(b"compressed")
        return replace(SCRIPT, file=BuiltFile(file))

    def test_file_is_sent_in_the_coding_of_the_browser(self, script: PageScript) -> None:
        environ = EnvironBuilder("/_galley/page-marks.js", headers={"Accept-Encoding": "gzip"}).get_environ()
        response = script.respond(environ)
        assert (response.data, response.headers["Content-Encoding"]) == (b"compressed", "gzip")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "private, max-age=31536000, immutable"
        assert response.mimetype == "text/javascript"
        del environ["HTTP_ACCEPT_ENCODING"]
        assert script.respond(environ).data == b"script"

    @pytest.mark.parametrize(
        ("path", "method", "status"),
        [("/_galley/page-marks.js", "HEAD", 200), ("/_galley/page-marks.js", "POST", 405), ("/_galley/", "GET", 404)],
    )
    def test_other_requests_of_the_prefix_are_not_passed_to_the_site(
        self, script: PageScript, path: str, method: str, status: int
    ) -> None:
        assert script.respond(EnvironBuilder(path, method=method).get_environ()).status_code == status
