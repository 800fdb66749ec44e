"""Previews by host name, before a server in a real jail that tells what it was asked."""

import collections
import io
import json
import socket
import time
from collections.abc import Iterator
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
from app.core.preview_links import COOKIE, Links
from app.core.rates import RateCounter
from app.extensions import db, drivers
from app.http import preview_incoming
from app.http.preview_proxy import PreviewProxy
from app.http.preview_upgrade import _agreed
from app.models.organization import Membership
from tests.resources.sandbox.conftest import Desk, make_desk
from tests.watchdog import watchdog
from tests.world import Person, World

SERVER = b"""
import http.server, json, os
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        told = {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": self.rfile.read(length).decode()}
        body = json.dumps(told).encode()
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
    do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = answer
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
FILES = {"package.json": b'{"scripts": {"dev": "exec python3 server.py"}}', "server.py": SERVER}


LINE = "\r\n"


def member(desk: Desk, world: World) -> Person:
    """Somebody who may see the project."""
    joining = world.person()
    with world.app.app_context():
        db.session.add(Membership(organization_id=desk.organization, user_id=joining.id, role=Role.EDITOR))
        db.session.commit()
    return joining


def remove(desk: Desk, leaving: Person) -> None:
    desk.owner.patch(f"/organization/remove-member/{desk.organization}", {"member_id": leaving.id}).ok()


@contextmanager
def later(seconds: int) -> Iterator[None]:
    """Signatures are that old."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TimestampSigner, "get_timestamp", lambda _: int(time.time()) + seconds)
        yield


class Window:
    """A browser's window on one preview."""

    def __init__(self, app: Flask, made: dict[str, Any]) -> None:
        self.app, self.host = app, urlsplit(made["previewUrl"]).netloc
        self.link = urlsplit(made["previewUrl"])
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

    def told(self, method: str = "GET", path: str = "/", **kwargs: Any) -> Any:
        return json.loads(self.send(method, path, **kwargs).data)


@pytest.fixture(scope="module")
def desk(app: Flask) -> Iterator[Desk]:
    yield make_desk(World(app), FILES)
    with app.app_context():
        for name in drivers["sandbox"].names():
            drivers["sandbox"].stop(name)


@pytest.fixture
def made(desk: Desk) -> dict[str, Any]:
    return desk.created()


@pytest.fixture
def window(app: Flask, made: dict[str, Any]) -> Window:
    window = Window(app, made)
    window.enter()
    return window


class TestAdmission:
    def test_the_link_leads_on_without_its_token(self, app: Flask, made: dict[str, Any]) -> None:
        window = Window(app, made)
        answer = window.get(f"/a%20page?x=1&{window.link.query}&y=%C3%A9")
        assert answer.status_code == 302
        assert answer.headers["Location"] == "/a%20page?x=1&y=%C3%A9"
        assert answer.headers["Cache-Control"] == "no-store"

    def test_the_way_on_never_leaves_the_host(self, app: Flask, made: dict[str, Any]) -> None:
        window = Window(app, made)
        answer = window.get(f"/?{window.link.query}", environ_overrides={"PATH_INFO": "//evil.example.org/"})
        assert answer.headers["Location"] == "/evil.example.org/"

    def test_without_a_cookie_it_is_403(self, app: Flask, made: dict[str, Any]) -> None:
        assert Window(app, made).get().status_code == 403

    def test_an_unknown_preview_is_403_as_well(self, window: Window) -> None:
        window.host = window.host.replace(window.host[:32], "f" * 32)
        assert window.get().status_code == 403

    def test_a_link_is_for_five_minutes(self, app: Flask, made: dict[str, Any]) -> None:
        window = Window(app, made)
        with later(301):
            assert window.get(f"/?{window.link.query}").status_code == 403

    def test_an_old_link_leads_on_who_has_the_cookie(self, window: Window) -> None:
        with later(301):
            assert window.get(f"/a?{window.link.query}").headers["Location"] == "/a"

    def test_the_cookie_is_good_for_two_hours(self, window: Window) -> None:
        with later(7190):
            assert window.get().status_code == 200
        with later(7201):
            assert window.get().status_code == 403

    def test_a_link_is_no_cookie(self, app: Flask, made: dict[str, Any]) -> None:
        window = Window(app, made)
        window.cookies[COOKIE] = window.link.query.partition("=")[2]
        assert window.get().status_code == 403

    def test_a_token_signed_with_another_secret_is_refused(self, app: Flask, made: dict[str, Any], desk: Desk) -> None:
        window = Window(app, made)
        forged = Links("another secret").query(made["sandboxName"], desk.owner.id)
        assert window.get(f"/?{forged}").status_code == 403

    def test_a_member_who_was_removed_is_out_with_the_next_request(self, app: Flask, desk: Desk, world: World) -> None:
        leaving = member(desk, world)
        window = Window(app, desk.created(leaving))
        window.enter()
        assert window.get().status_code == 200
        remove(desk, leaving)
        assert window.get().status_code == 403

    def test_a_member_who_was_removed_reads_nothing_on(
        self, app: Flask, desk: Desk, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(preview_incoming, "CHECK_S", 0.1)
        leaving = member(desk, world)
        window = Window(app, desk.created(leaving))
        window.enter()
        reading = window.get(f"/flood?{quote('HTTP/1.1 200 OK' + 2 * LINE + '|a')}", buffered=False)
        assert next(reading.response)
        remove(desk, leaving)
        with watchdog(), pytest.raises(ConnectionResetError):
            collections.deque(reading.response, maxlen=0)
        reading.close()

    def test_the_cookie_is_this_host_s_alone(self, app: Flask, made: dict[str, Any]) -> None:
        cookie = Window(app, made).enter().headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert "Domain" not in cookie

    @pytest.mark.parametrize("host", ["preview.localhost", "www.preview.localhost", "a.b.preview.localhost"])
    def test_other_names_below_the_preview_host_are_nothing(self, window: Window, host: str) -> None:
        window.host = host
        assert window.get().status_code in (404, 200)
        assert b"method" not in window.get().data

    def test_over_https_no_other_preview_s_page_can_set_it(self, app: Flask, made: dict[str, Any]) -> None:
        settings = app.config["SETTINGS"]
        secure = replace(settings, server=replace(settings.server, base_url="https://galley.example.org"))
        window = Window(app, made)
        window.client = Client(PreviewProxy(app, secure), use_cookies=False)
        cookie = window.get(f"/?{window.link.query}").headers["Set-Cookie"]
        assert cookie.startswith("__Host-preview_session=")
        assert {"Secure", "Path=/", "SameSite=None", "Partitioned"} <= set(cookie.split("; "))

    def test_the_host_is_compared_without_case_and_port(self, window: Window) -> None:
        window.host = window.host.upper().partition(":")[0] + ":81"
        assert window.get().status_code == 200


class TestRequest:
    def test_method_path_query_and_body_go_in_as_they_are(self, window: Window) -> None:
        told = window.told("POST", "/a/b%20c?x=%2F&y", data=b"body", content_type="text/plain")
        assert (told["method"], told["body"]) == ("POST", "body")
        assert told["path"] == "/a/b%20c?x=%2F&y"
        assert told["headers"]["content-type"] == "text/plain"

    def test_none_of_our_cookies_goes_in(self, window: Window) -> None:
        told = window.told(headers={"Cookie": "session_token=secret; theirs=1; __Host-session_token=secret"})
        assert told["headers"]["Cookie"] == "theirs=1"
        assert "secret" not in json.dumps(told)

    def test_headers_of_one_hop_stay_outside(self, window: Window) -> None:
        told = window.told(headers={"Connection": "X-Private", "X-Private": "1", "Keep-Alive": "1", "TE": "trailers"})
        names = {name.lower() for name in told["headers"]}
        assert not names & {"x-private", "keep-alive", "te"}

    def test_the_server_sees_its_own_host_and_origin(self, window: Window) -> None:
        told = window.told("POST", headers={"Origin": f"http://{window.host}"})
        assert told["headers"]["Host"] == "localhost:3000"
        assert told["headers"]["Origin"] == "http://localhost:3000"
        assert told["headers"]["X-Forwarded-Host"] == window.host

    def test_another_site_s_origin_stays_another_site_s(self, window: Window) -> None:
        told = window.told("POST", headers={"Origin": "https://evil.example.org"})
        assert told["headers"]["Origin"] == "https://evil.example.org"

    def test_who_the_visitor_is_is_not_told(self, window: Window) -> None:
        given = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Host": "evil.example.org", "X-Real-IP": "192.0.2.7"}
        told = window.told(headers={**given, "Forwarded": "for=192.0.2.7", "CF-Connecting-IP": "192.0.2.7"})
        assert "192.0.2.7" not in json.dumps(told)
        assert told["headers"]["X-Forwarded-Host"] == window.host

    def test_an_address_with_a_line_break_in_it_adds_no_header(self, window: Window) -> None:
        told = window.told(path="/a", environ_overrides={"RAW_URI": "/a\nX-Evil: 1"})
        assert "x-evil" not in {name.lower() for name in told["headers"]}

    def test_a_body_whose_chunks_are_none_is_the_visitor_s_fault(self, window: Window) -> None:
        class Broken(io.BytesIO):
            def read(self, _size: int | None = -1, /) -> bytes:
                raise InvalidChunkSize(b"zz")

        chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": Broken(), "wsgi.input_terminated": True}
        answer = window.send("POST", "/", environ_overrides=chunked)
        assert answer.status_code == 400

    def test_head_has_no_body(self, window: Window) -> None:
        assert window.send("HEAD", "/").data == b""


class TestAnswer:
    def test_what_leads_to_the_inner_address_leads_to_the_preview(self, window: Window) -> None:
        answer = window.get("/away")
        assert answer.status_code == 302
        assert answer.headers["Location"] == "/there?a=1"

    def test_cookies_stay_on_the_host_and_ours_cannot_be_set(self, window: Window) -> None:
        assert window.get().headers.getlist("Set-Cookie") == ["theirs=1; Path=/; HttpOnly"]

    def test_headers_of_one_hop_and_of_the_whole_site_stay_inside(self, window: Window) -> None:
        names = {name.lower() for name, _ in window.get().headers}
        assert not names & {"keep-alive", "connection", "strict-transport-security", "server"}

    def test_it_is_not_to_be_indexed(self, window: Window) -> None:
        assert window.get().headers["X-Robots-Tag"] == "noindex"


def raw(window: Window, answer: str) -> TestResponse:
    """What becomes of exactly these bytes of the server inside."""
    return window.get(f"/raw?{quote(answer)}")


class TestRawAnswer:
    def test_orders_to_a_web_server_before_us_stay_inside(self, window: Window) -> None:
        orders = "X-Accel-Redirect: /private\r\nX-Sendfile: /etc/passwd\r\nX-Accel-Buffering: no\r\n"
        names = {name.lower() for name, _ in raw(window, f"HTTP/1.1 200 OK\r\n{orders}\r\n").headers}
        assert not names & {"x-accel-redirect", "x-sendfile", "x-accel-buffering"}

    def test_a_length_beside_chunks_is_dropped(self, window: Window) -> None:
        both = "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"
        answer = raw(window, f"HTTP/1.1 200 OK\r\n{both}\r\n5\r\nwhole\r\n0\r\n\r\n")
        assert answer.data == b"whole"
        assert answer.headers.get("Content-Length") in (None, "5")

    def test_what_comes_behind_the_length_is_not_passed_on(self, window: Window) -> None:
        assert raw(window, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfourHTTP/1.1 200 OK\r\n").data == b"four"

    def test_one_that_breaks_off_breaks_the_connection(self, window: Window) -> None:
        with pytest.raises(ConnectionResetError):
            raw(window, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        with pytest.raises(ConnectionResetError):
            raw(window, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nshort")

    def test_an_upgrade_that_nobody_asked_for_is_no_answer(self, window: Window) -> None:
        assert raw(window, "HTTP/1.1 101 Switching Protocols\r\n\r\n").status_code == 502

    def test_rubbish_is_no_answer(self, window: Window) -> None:
        assert raw(window, "rubbish\r\n\r\n").status_code == 502

    @pytest.mark.parametrize("piece", ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\na: b\r\n\r\n"])
    def test_one_that_is_always_about_to_come_is_no_answer(self, window: Window, piece: str) -> None:
        with watchdog():
            assert window.get(f"/flood?{quote('|' + piece)}").status_code == 502

    def test_trailers_without_end_break_the_connection(self, window: Window) -> None:
        first = LINE.join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5", "whole", "0", ""])
        with watchdog(), pytest.raises(ConnectionResetError):
            window.get(f"/flood?{quote(first + '|a: b' + LINE)}")

    def test_a_header_in_two_lines_is_dropped(self, window: Window) -> None:
        answer = raw(window, "HTTP/1.1 200 OK\r\nX-Two: a\r\n b\r\nX-One: c\r\n\r\n")
        assert (answer.headers.get("X-Two"), answer.headers["X-One"]) == (None, "c")

    def test_a_cookie_without_a_name_is_not_set(self, window: Window) -> None:
        assert "Set-Cookie" not in raw(window, "HTTP/1.1 200 OK\r\nSet-Cookie: =preview_session=x\r\n\r\n").headers


class TestHandshake:
    def test_another_answer_than_an_agreement_is_none(self, window: Window) -> None:
        """And nothing of it reaches the visitor: neither its cookies nor its body."""
        wanted = {"Connection": "Upgrade", "Upgrade": "websocket"}
        path = f"/raw?{quote('HTTP/1.1 200 OK' + chr(13) + chr(10) + 'Set-Cookie: a=b' + (chr(13) + chr(10)) * 2)}"
        ours, theirs = socket.socketpair()
        with ours, theirs:
            answer = window.get(path, headers=wanted, environ_overrides={"gunicorn.socket": ours})
        assert answer.status_code == 502
        assert "Set-Cookie" not in answer.headers

    @pytest.mark.parametrize("origin", ["http://evil.example.org", f"http://{'0' * 32}.preview.localhost", "null"])
    def test_a_page_of_another_host_opens_none(self, window: Window, origin: str) -> None:
        assert self._opened(window, origin) == 403

    def test_its_own_page_does_whatever_port_a_proxy_leaves_out(self, window: Window) -> None:
        assert self._opened(window, f"https://{window.host.partition(':')[0].upper()}:8443") == 502

    def _opened(self, window: Window, origin: str) -> int:
        """502 where the server inside was asked, which knows no WebSockets."""
        wanted = {"Connection": "Upgrade", "Upgrade": "websocket", "Origin": origin}
        ours, theirs = socket.socketpair()
        with ours, theirs:
            return window.send("GET", "/", headers=wanted, environ_overrides={"gunicorn.socket": ours}).status_code

    def test_of_an_agreement_only_the_handshake_goes_out(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            more = b"Set-Cookie: a=b\r\nSec-WebSocket-Accept: x\r\nX-Accel-Redirect: /\r\n"
            theirs.sendall(b"HTTP/1.1 101 Yes\r\n" + more + b"\r\nfirst frame")
            head, first = _agreed(ours)
        assert head == (
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: x\r\n\r\n"
        )
        assert first == b"first frame"


class TestLimits:
    def test_a_member_is_counted_by_preview_and_everybody_else_by_address(self, app: Flask, window: Window) -> None:
        known = app.extensions["rates"]
        app.extensions["rates"] = RateCounter()
        try:
            stranger = Window(app, {"previewUrl": f"http://{window.host}/"})
            assert [stranger.get().status_code for _ in range(601)] == [403] * 600 + [429]
            assert window.get().status_code == 200
        finally:
            app.extensions["rates"] = known

    def test_no_more_than_sixty_four_are_served_at_once(self, app: Flask, window: Window) -> None:
        label = window.host.partition(".")[0]
        slots = app.wsgi_app._slots
        taken = [slots.take(label) for _ in range(65)]
        try:
            answer = window.get()
        finally:
            for _ in range(taken.count(True)):
                slots.give(label)
        assert taken == [True] * 64 + [False]
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
        assert window.get().status_code == 200

    def test_places_come_back_whatever_the_answer_was(self, app: Flask, window: Window) -> None:
        for _ in range(70):
            window.get()
            raw(window, "rubbish\r\n\r\n")
        assert app.wsgi_app._slots._taken.total() == 0


class TestPages:
    def test_a_failed_one_shows_the_end_of_its_log_escaped(self, app: Flask, world: World) -> None:
        script = b'{"scripts": {"dev": "echo \\"<b>it broke</b>\\"; exit 1"}}'
        desk = make_desk(world, {"package.json": script})
        desk.create().fails(422)
        record = desk.record()
        window = Window(app, {"previewUrl": record["preview_url"]})
        with app.app_context():
            links = Links(app.config["SETTINGS"].security.secret_key)
        window.cookies[COOKIE] = links.cookie(record["sandbox_name"], desk.owner.id)
        answer = window.get()
        assert answer.status_code == 502
        assert "&lt;b&gt;it broke&lt;/b&gt;" in answer.text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]

    def test_a_stopped_one_says_so(self, app: Flask, world: World) -> None:
        desk = make_desk(world)
        window = Window(app, desk.created())
        window.enter()
        assert window.get().text == "<h1>Plain</h1>\n"
        desk.stop()
        assert window.get().status_code == 410
