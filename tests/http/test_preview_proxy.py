"""Previews by host name, before a server in a real jail that tells what it was asked."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from werkzeug.test import Client, TestResponse

from app.core.permissions import Role
from app.core.preview_links import COOKIE, Links
from app.extensions import db, drivers
from app.models.organization import Membership
from tests.resources.sandbox.conftest import Desk, make_desk
from tests.world import World

SERVER = b"""
import http.server, json, os
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        told = {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": self.rfile.read(length).decode()}
        body = json.dumps(told).encode()
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
    do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = answer
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
FILES = {"package.json": b'{"scripts": {"dev": "exec python3 server.py"}}', "server.py": SERVER}


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
        return self.client.open(path, method=method, headers=headers, buffered=True, **kwargs)

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

    def test_a_link_is_no_cookie(self, app: Flask, made: dict[str, Any]) -> None:
        window = Window(app, made)
        window.cookies[COOKIE] = window.link.query.partition("=")[2]
        assert window.get().status_code == 403

    def test_a_token_signed_with_another_secret_is_refused(self, app: Flask, made: dict[str, Any], desk: Desk) -> None:
        window = Window(app, made)
        forged = Links("another secret").query(made["sandboxName"], desk.owner.id)
        assert window.get(f"/?{forged}").status_code == 403

    def test_a_member_who_was_removed_is_out_with_the_next_request(self, app: Flask, desk: Desk, world: World) -> None:
        leaving = world.person()
        with app.app_context():
            db.session.add(Membership(organization_id=desk.organization, user_id=leaving.id, role=Role.EDITOR))
            db.session.commit()
        window = Window(app, desk.created(leaving))
        window.enter()
        assert window.get().status_code == 200
        desk.owner.patch(f"/organization/remove-member/{desk.organization}", {"member_id": leaving.id}).ok()
        assert window.get().status_code == 403

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
