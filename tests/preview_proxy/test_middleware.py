"""Tests of the preview proxy with a server in a real jail that returns each request as JSON."""

import collections
import io
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from flask import Flask
from gunicorn.http.errors import InvalidChunkSize
from itsdangerous import TimestampSigner
from werkzeug.test import Client, TestResponse

from app.core.permissions import Role
from app.extensions import db, drivers
from app.models.organization import Membership
from app.preview_proxy.middleware import PreviewProxy
from app.preview_proxy.websocket import _read_handshake
from app.rate_limiting.counter import RateCounter
from app.security.preview_links import COOKIE, PreviewLinkSigner
from config import Settings
from tests.resources.sandbox.conftest import PreviewSite, make_site
from tests.support.factories import limit
from tests.support.watchdog import watchdog
from tests.support.world import Person, World

pytestmark = pytest.mark.one_database

SERVER = b"""
import http.server, json, os
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def respond(self):
        length = int(self.headers.get("Content-Length") or 0)
        received = {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": self.rfile.read(length).decode()}
        body = json.dumps(received).encode()
        if self.path.startswith("/raw"):
            self.wfile.write(self.rfile_of_raw())
            self.close_connection = True
            return
        if self.path.startswith("/flood"):
            first, piece = self.rfile_of_raw().split(b"|")
            self.wfile.write(first)
            try:
                while True:
                    self.wfile.write(piece * 1000)
            except OSError:
                self.close_connection = True
            return
        self.send_response(302 if self.path.startswith("/away") else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "http://localhost:%s/there?a=1" % os.environ["PORT"])
        self.send_header("Set-Cookie", "theirs=1; Domain=preview.localhost; Path=/; HttpOnly")
        self.send_header("Set-Cookie", "preview_session=stolen")
        self.send_header("Keep-Alive", "timeout=5")
        self.send_header("Strict-Transport-Security", "max-age=1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    def rfile_of_raw(self):
        import urllib.parse
        return urllib.parse.unquote_to_bytes(self.path.partition("?")[2])
    do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = respond
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
FILES = {"package.json": b'{"scripts": {"dev": "exec python3 server.py"}}', "server.py": SERVER}


LINE = "\r\n"


def member(project: PreviewSite, world: World) -> Person:
    """Create a member of the organization of the project."""
    joining = world.person()
    with world.app.app_context():
        db.session.add(Membership(organization_id=project.organization, user_id=joining.id, role=Role.EDITOR))
        db.session.commit()
    return joining


def remove(project: PreviewSite, leaving: Person, _world: World) -> None:
    project.owner.patch(f"/organization/remove-member/{project.organization}", {"member_id": leaving.id}).ok()


def hide(project: PreviewSite, leaving: Person, world: World) -> None:
    limit(world, project.organization, leaving)


ENDS = pytest.mark.parametrize("end", [remove, hide])


@contextmanager
def clock_ahead(seconds: int) -> Iterator[None]:
    """Advance the clock of the signatures by `seconds`."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TimestampSigner, "get_timestamp", lambda _: int(time.time()) + seconds)
        yield


class Window:
    """A browser client of one preview."""

    def __init__(self, app: Flask, preview: dict[str, Any]) -> None:
        self.app, self.host = app, urlsplit(preview["previewUrl"]).netloc
        self.link = urlsplit(preview["previewUrl"])
        self.client = Client(app.wsgi_app, use_cookies=False)
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        headers = {"Host": self.host, **kwargs.pop("headers", {})}
        sent = [headers.pop("Cookie", ""), *(f"{name}={value}" for name, value in self.cookies.items())]
        headers["Cookie"] = "; ".join(filter(None, sent))
        return self.client.open(path, method=method, headers=headers, **{"buffered": True} | kwargs)

    def get(self, path: str = "/", **kwargs: Any) -> TestResponse:
        return self.send("GET", path, **kwargs)

    def enter(self) -> TestResponse:
        response = self.get(f"/?{self.link.query}")
        self.cookies[COOKIE] = response.headers["Set-Cookie"].split("=", 1)[1].split(";")[0]
        return response

    def request_json(self, method: str = "GET", path: str = "/", **kwargs: Any) -> Any:
        return json.loads(self.send(method, path, **kwargs).data)


@pytest.fixture(scope="module")
def project(app: Flask) -> Iterator[PreviewSite]:
    yield make_site(World(app), FILES)
    with app.app_context():
        for name in drivers.sandbox.list_sandboxes():
            drivers.sandbox.stop(name)


@pytest.fixture
def preview(project: PreviewSite) -> dict[str, Any]:
    return project.created()


@pytest.fixture
def window(app: Flask, preview: dict[str, Any]) -> Window:
    window = Window(app, preview)
    window.enter()
    return window


class TestAdmission:
    def test_link_redirects_to_the_url_without_its_token(self, app: Flask, preview: dict[str, Any]) -> None:
        window = Window(app, preview)
        response = window.get(f"/a%20page?x=1&{window.link.query}&y=%C3%A9")
        assert response.status_code == 302
        assert response.headers["Location"] == "/a%20page?x=1&y=%C3%A9"
        assert response.headers["Cache-Control"] == "no-store"

    def test_link_in_a_frame_sets_a_partitioned_cookie(self, app: Flask, preview: dict[str, Any]) -> None:
        window = Window(app, preview)
        attributes = {
            purpose: window.get(f"/?{window.link.query}", headers={"Sec-Fetch-Dest": purpose}).headers["Set-Cookie"]
            for purpose in ("iframe", "document")
        }
        for name in ("Secure", "SameSite=None", "Partitioned"):
            assert name in attributes["iframe"]
            assert name not in attributes["document"]

    def test_redirect_with_a_double_slash_stays_on_the_host(self, app: Flask, preview: dict[str, Any]) -> None:
        window = Window(app, preview)
        response = window.get(f"/?{window.link.query}", environ_overrides={"PATH_INFO": "//evil.example.org/"})
        assert response.headers["Location"] == "/evil.example.org/"

    def test_request_without_a_cookie_receives_403(self, app: Flask, preview: dict[str, Any]) -> None:
        assert Window(app, preview).get().status_code == 403

    def test_unknown_preview_receives_403(self, window: Window) -> None:
        window.host = window.host.replace(window.host[:32], "f" * 32)
        assert window.get().status_code == 403

    def test_link_expires_after_five_minutes(self, app: Flask, preview: dict[str, Any]) -> None:
        window = Window(app, preview)
        with clock_ahead(301):
            assert window.get(f"/?{window.link.query}").status_code == 403

    def test_expired_link_with_a_cookie_redirects(self, window: Window) -> None:
        with clock_ahead(301):
            assert window.get(f"/a?{window.link.query}").headers["Location"] == "/a"

    def test_cookie_expires_after_two_hours(self, window: Window) -> None:
        with clock_ahead(7190):
            assert window.get().status_code == 200
        with clock_ahead(7201):
            assert window.get().status_code == 403

    def test_link_token_as_cookie_receives_403(self, app: Flask, preview: dict[str, Any]) -> None:
        window = Window(app, preview)
        window.cookies[COOKIE] = window.link.query.partition("=")[2]
        assert window.get().status_code == 403

    def test_token_of_another_secret_receives_403(
        self, app: Flask, preview: dict[str, Any], project: PreviewSite
    ) -> None:
        window = Window(app, preview)
        forged = PreviewLinkSigner("another secret").query(preview["sandboxName"], project.owner.id)
        assert window.get(f"/?{forged}").status_code == 403

    @ENDS
    def test_removed_member_receives_403_at_the_next_request(
        self, app: Flask, project: PreviewSite, world: World, end: Callable[[PreviewSite, Person, World], None]
    ) -> None:
        leaving = member(project, world)
        window = Window(app, project.created(leaving))
        window.enter()
        assert window.get().status_code == 200
        end(project, leaving, world)
        assert window.get().status_code == 403

    @ENDS
    def test_removed_member_is_disconnected_during_a_response(
        self, app: Flask, project: PreviewSite, world: World, end: Callable[[PreviewSite, Person, World], None]
    ) -> None:
        leaving = member(project, world)
        window = Window(app, project.created(leaving))
        settings: Settings = app.config["SETTINGS"]
        limits = replace(settings.limits, sandbox=replace(settings.limits.sandbox, membership_check_s=0.1))
        window.client = Client(PreviewProxy(app, replace(settings, limits=limits)), use_cookies=False)
        window.enter()
        reading = window.get(f"/flood?{quote('HTTP/1.1 200 OK' + 2 * LINE + '|a')}", buffered=False)
        assert next(reading.response)
        end(project, leaving, world)
        with watchdog(), pytest.raises(ConnectionResetError):
            collections.deque(reading.response, maxlen=0)
        reading.close()

    def test_cookie_has_no_domain(self, app: Flask, preview: dict[str, Any]) -> None:
        cookie = Window(app, preview).enter().headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert "Domain" not in cookie

    @pytest.mark.parametrize("host", ["preview.localhost", "www.preview.localhost", "a.b.preview.localhost"])
    def test_other_host_below_the_preview_host_serves_no_preview(self, window: Window, host: str) -> None:
        window.host = host
        assert window.get().status_code in (404, 200)
        assert b"method" not in window.get().data

    def test_cookie_over_https_is_partitioned_and_has_the_host_prefix(
        self, app: Flask, preview: dict[str, Any]
    ) -> None:
        settings = app.config["SETTINGS"]
        secure = replace(settings, server=replace(settings.server, base_url="https://galley.example.org"))
        window = Window(app, preview)
        window.client = Client(PreviewProxy(app, secure), use_cookies=False)
        cookie = window.get(f"/?{window.link.query}").headers["Set-Cookie"]
        assert cookie.startswith("__Host-preview_session=")
        assert {"Secure", "Path=/", "SameSite=None", "Partitioned"} <= set(cookie.split("; "))

    def test_host_comparison_ignores_case_and_port(self, window: Window) -> None:
        window.host = window.host.upper().partition(":")[0] + ":81"
        assert window.get().status_code == 200


class TestRequest:
    def test_request_forwards_method_path_query_and_body_unchanged(self, window: Window) -> None:
        received = window.request_json("POST", "/a/b%20c?x=%2F&y", data=b"body", content_type="text/plain")
        assert (received["method"], received["body"]) == ("POST", "body")
        assert received["path"] == "/a/b%20c?x=%2F&y"
        assert received["headers"]["content-type"] == "text/plain"

    def test_request_omits_the_cookies_of_the_service(self, window: Window) -> None:
        received = window.request_json(
            headers={"Cookie": "session_token=secret; theirs=1; __Host-session_token=secret"}
        )
        assert received["headers"]["Cookie"] == "theirs=1"
        assert "secret" not in json.dumps(received)

    def test_request_omits_hop_by_hop_headers(self, window: Window) -> None:
        received = window.request_json(
            headers={"Connection": "X-Private", "X-Private": "1", "Keep-Alive": "1", "TE": "trailers"}
        )
        names = {name.lower() for name in received["headers"]}
        assert not names & {"x-private", "keep-alive", "te"}

    def test_request_names_host_and_origin_of_the_server(self, window: Window) -> None:
        received = window.request_json("POST", headers={"Origin": f"http://{window.host}"})
        assert received["headers"]["Host"] == "localhost:3000"
        assert received["headers"]["Origin"] == "http://localhost:3000"
        assert received["headers"]["X-Forwarded-Host"] == window.host

    def test_request_of_another_origin_keeps_the_origin(self, window: Window) -> None:
        received = window.request_json("POST", headers={"Origin": "https://evil.example.org"})
        assert received["headers"]["Origin"] == "https://evil.example.org"

    def test_request_omits_the_address_of_the_visitor(self, window: Window) -> None:
        forwarded = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Host": "evil.example.org", "X-Real-IP": "192.0.2.7"}
        received = window.request_json(
            headers={**forwarded, "Forwarded": "for=192.0.2.7", "CF-Connecting-IP": "192.0.2.7"}
        )
        assert "192.0.2.7" not in json.dumps(received)
        assert received["headers"]["X-Forwarded-Host"] == window.host

    def test_target_with_a_line_break_adds_no_header(self, window: Window) -> None:
        received = window.request_json(path="/a", environ_overrides={"RAW_URI": "/a\nX-Evil: 1"})
        assert "x-evil" not in {name.lower() for name in received["headers"]}

    def test_body_with_invalid_chunks_receives_400(self, window: Window) -> None:
        class Broken(io.BytesIO):
            def read(self, _size: int | None = -1, /) -> bytes:
                raise InvalidChunkSize(b"zz")

        chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": Broken(), "wsgi.input_terminated": True}
        response = window.send("POST", "/", environ_overrides=chunked)
        assert response.status_code == 400

    def test_head_has_no_body(self, window: Window) -> None:
        assert window.send("HEAD", "/").data == b""


class TestResponseHeaders:
    def test_location_with_the_internal_url_becomes_a_path(self, window: Window) -> None:
        response = window.get("/away")
        assert response.status_code == 302
        assert response.headers["Location"] == "/there?a=1"

    def test_response_cookies_are_limited_to_the_host_and_omit_those_of_the_service(self, window: Window) -> None:
        assert window.get().headers.getlist("Set-Cookie") == ["theirs=1; Path=/; HttpOnly"]

    def test_response_omits_hop_by_hop_and_site_wide_headers(self, window: Window) -> None:
        names = {name.lower() for name, _ in window.get().headers}
        assert not names & {"keep-alive", "connection", "strict-transport-security", "server"}

    def test_response_forbids_indexing(self, window: Window) -> None:
        assert window.get().headers["X-Robots-Tag"] == "noindex"


def get_raw(window: Window, response: str) -> TestResponse:
    """Return the response of the proxy to exactly these bytes of the server."""
    return window.get(f"/raw?{quote(response)}")


class TestRawResponse:
    def test_response_omits_instructions_to_a_reverse_proxy(self, window: Window) -> None:
        orders = "X-Accel-Redirect: /private\r\nX-Sendfile: /etc/passwd\r\nX-Accel-Buffering: no\r\n"
        names = {name.lower() for name, _ in get_raw(window, f"HTTP/1.1 200 OK\r\n{orders}\r\n").headers}
        assert not names & {"x-accel-redirect", "x-sendfile", "x-accel-buffering"}

    def test_response_with_chunks_omits_the_length(self, window: Window) -> None:
        both = "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"
        response = get_raw(window, f"HTTP/1.1 200 OK\r\n{both}\r\n5\r\nwhole\r\n0\r\n\r\n")
        assert response.data == b"whole"
        assert response.headers.get("Content-Length") in (None, "5")

    def test_response_omits_bytes_after_the_length(self, window: Window) -> None:
        assert get_raw(window, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfourHTTP/1.1 200 OK\r\n").data == b"four"

    def test_incomplete_response_ends_the_connection(self, window: Window) -> None:
        with pytest.raises(ConnectionResetError):
            get_raw(window, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        with pytest.raises(ConnectionResetError):
            get_raw(window, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nshort")

    def test_unrequested_upgrade_receives_502(self, window: Window) -> None:
        assert get_raw(window, "HTTP/1.1 101 Switching Protocols\r\n\r\n").status_code == 502

    def test_invalid_response_receives_502(self, window: Window) -> None:
        assert get_raw(window, "rubbish\r\n\r\n").status_code == 502

    @pytest.mark.parametrize("piece", ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\na: b\r\n\r\n"])
    def test_endless_informational_responses_receive_502(self, window: Window, piece: str) -> None:
        with watchdog():
            assert window.get(f"/flood?{quote('|' + piece)}").status_code == 502

    def test_endless_trailers_end_the_connection(self, window: Window) -> None:
        first = LINE.join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5", "whole", "0", ""])
        with watchdog(), pytest.raises(ConnectionResetError):
            window.get(f"/flood?{quote(first + '|a: b' + LINE)}")

    def test_folded_header_is_dropped(self, window: Window) -> None:
        response = get_raw(window, "HTTP/1.1 200 OK\r\nX-Two: a\r\n b\r\nX-One: c\r\n\r\n")
        assert (response.headers.get("X-Two"), response.headers["X-One"]) == (None, "c")

    def test_cookie_without_a_name_is_dropped(self, window: Window) -> None:
        assert "Set-Cookie" not in get_raw(window, "HTTP/1.1 200 OK\r\nSet-Cookie: =preview_session=x\r\n\r\n").headers


class TestHandshake:
    def test_handshake_with_another_response_receives_502(self, window: Window) -> None:
        """The visitor receives neither the cookies nor the body of that response."""
        headers = {"Connection": "Upgrade", "Upgrade": "websocket"}
        path = f"/raw?{quote('HTTP/1.1 200 OK' + chr(13) + chr(10) + 'Set-Cookie: a=b' + (chr(13) + chr(10)) * 2)}"
        proxy_end, site_end = socket.socketpair()
        with proxy_end, site_end:
            response = window.get(path, headers=headers, environ_overrides={"gunicorn.socket": proxy_end})
        assert response.status_code == 502
        assert "Set-Cookie" not in response.headers

    @pytest.mark.parametrize("origin", ["http://evil.example.org", f"http://{'0' * 32}.preview.localhost", "null"])
    def test_handshake_of_another_origin_receives_403(self, window: Window, origin: str) -> None:
        assert self._handshake_status(window, origin) == 403

    def test_handshake_of_the_preview_ignores_the_port(self, window: Window) -> None:
        assert self._handshake_status(window, f"https://{window.host.partition(':')[0].upper()}:8443") == 502

    def _handshake_status(self, window: Window, origin: str) -> int:
        """Return the status of a handshake. It is 502 if the request reached the server, which has no WebSockets."""
        headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Origin": origin}
        proxy_end, site_end = socket.socketpair()
        with proxy_end, site_end:
            return window.send(
                "GET", "/", headers=headers, environ_overrides={"gunicorn.socket": proxy_end}
            ).status_code

    def test_handshake_response_is_reduced_to_the_handshake(self) -> None:
        proxy_end, site_end = socket.socketpair()
        with proxy_end, site_end:
            fields = b"Set-Cookie: a=b\r\nSec-WebSocket-Accept: x\r\nX-Accel-Redirect: /\r\n"
            site_end.sendall(b"HTTP/1.1 101 Yes\r\n" + fields + b"\r\nfirst frame")
            head, first = _read_handshake(proxy_end)
        assert head == (
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: x\r\n\r\n"
        )
        assert first == b"first frame"


class TestLimits:
    def test_rate_counts_members_by_preview_and_others_by_address(self, app: Flask, window: Window) -> None:
        counter = app.extensions["rates"]
        app.extensions["rates"] = RateCounter()
        try:
            visitor = Window(app, {"previewUrl": f"http://{window.host}/"})
            assert [visitor.get().status_code for _ in range(601)] == [403] * 600 + [429]
            assert window.get().status_code == 200
        finally:
            app.extensions["rates"] = counter

    def test_concurrent_requests_are_limited_to_64(self, app: Flask, window: Window) -> None:
        label = window.host.partition(".")[0]
        slots = app.wsgi_app._slots
        taken = [slots.acquire(label) for _ in range(65)]
        try:
            response = window.get()
        finally:
            for _ in range(taken.count(True)):
                slots.release(label)
        assert taken == [True] * 64 + [False]
        assert (response.status_code, response.headers["Retry-After"]) == (429, "1")
        assert window.get().status_code == 200

    def test_slots_are_released_after_every_response(self, app: Flask, window: Window) -> None:
        for _ in range(70):
            window.get()
            get_raw(window, "rubbish\r\n\r\n")
        assert app.wsgi_app._slots._uses.total() == 0


class TestPages:
    def test_log_url_of_a_failed_start_shows_its_escaped_log(self, app: Flask, world: World) -> None:
        script = b'{"scripts": {"dev": "echo \\"<b>it broke</b>\\"; exit 1"}}'
        project = make_site(world, {"package.json": script})
        window = Window(app, {"previewUrl": project.create().fails(422)["result"]["log_url"]})
        assert window.get().status_code == 403
        window.enter()
        response = window.get()
        assert response.status_code == 502
        assert "&lt;b&gt;it broke&lt;/b&gt;" in response.text
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]

    def test_stopped_preview_receives_410(self, app: Flask, world: World) -> None:
        project = make_site(world)
        window = Window(app, project.created())
        window.enter()
        assert window.get().text == "<h1>Plain</h1>\n"
        project.stop()
        assert window.get().status_code == 410
