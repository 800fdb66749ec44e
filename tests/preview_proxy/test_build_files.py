"""Tests of the files of a build: addresses, types, conditional requests, ranges, redirects and links to the site."""

import hashlib
import secrets
from io import BytesIO

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import db, drivers
from app.models.project import Project
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from app.resources.site_build.storing import DEFAULT_TYPE, object_key, type_of
from app.security.preview_links import PreviewLinkSigner
from tests.preview_proxy.test_middleware import Window
from tests.resources.sandbox.conftest import make_site
from tests.support.world import Person, World

FILES = {
    "index.html": b"<a href='https://www.example.org/about/'>About</a><a href='https://www.example.org.evil/'></a>",
    "about/index.html": b"<h1>About</h1>",
    "contact.html": b"<h1>Contact</h1>",
    "404.html": b"<h1>Missing</h1>",
    "robots.txt": b"User-agent: *\nDisallow: /\n",
    "sw.js": b"self.x = 1",
    "style.css": b"body{}",
    "caf\u00e9.txt": b"caf\xc3\xa9",
    "film.bin": bytes(range(256)) * 40,
    "link.html": b"<link href='http://build.preview.localhost/link.css' integrity=sha256-x><p>integrity=sha256-x</p>",
    "link.css": b"@import 'http://build.preview.localhost/style.css'",
    "_redirects": b"# old\n/far /\xe6\x97\xa5\xe6\x9c\xac/?a=1#b\n/old /about/\n/gone/* /contact.html 302\n/app/* /index.html 200\n/out https://evil.example/ 301\n/x //evil.example\n"
    b"/away/* /:splat\n/twice/* /:splat:splat\n/nul /a\0b 200\n",
}


class Built:
    """A ready build, the project with the public address of its site, and a browser of the owner."""

    def __init__(self, world: World) -> None:
        self.app, self.site = world.app, make_site(world)
        self.label = secrets.token_hex(16)
        with self.app.app_context():
            db.session.execute(
                sa.update(Project).where(Project.id == self.site.project).values(site_url="https://www.example.org/")
            )
            build = SiteBuild(
                project_id=self.site.project, commit_sha="1" * 40, label=self.label, state=BuildState.READY
            )
            db.session.add(build)
            db.session.flush()
            for path, content in FILES.items():
                sha256 = hashlib.sha256(content).hexdigest()
                drivers.storage.put(object_key(self.site.project, sha256), BytesIO(content), mimetype=type_of(path))
                row = {"path": path, "sha256": sha256, "size": len(content), "mimetype": type_of(path)}
                db.session.add(SiteBuildFile(build_id=build.id, project_id=self.site.project, **row))
            db.session.commit()
        self.window = self.open(self.site.owner)

    def open(self, by: Person) -> Window:
        signer = PreviewLinkSigner(self.app.config["SETTINGS"].security.secret_key)
        url = f"http://{self.label}.preview.localhost/?{signer.query(self.label, by.id)}"
        window = Window(self.app, {"previewUrl": url})
        window.enter()
        return window


@pytest.fixture(scope="module")
def built(app: Flask) -> Built:
    return Built(World(app))


@pytest.mark.parametrize(
    ("path", "status", "content"),
    [
        ("/about/", 200, b"About"),
        ("/contact", 200, b"Contact"),
        ("/contact.html", 200, b"Contact"),
        ("/caf%C3%A9.txt", 200, b"caf"),
        ("/missing", 404, b"Missing"),
        ("/about/../../etc/passwd", 404, b"Missing"),
        ("/%2e%2e/secret", 404, b"Missing"),
        ("/_redirects", 404, b"Missing"),
        ("/a%00b", 404, b"Missing"),
        ("/nul", 404, b"Missing"),
        ("/app/any/address", 200, b"About"),
        ("/x", 404, b"Missing"),
        ("/out", 404, b"Missing"),
    ],
)
def test_address_has_the_file_of_a_static_site(built: Built, path: str, status: int, content: bytes) -> None:
    response = built.window.get(path)
    assert (response.status_code, content in response.data) == (status, True)


@pytest.mark.parametrize(
    ("path", "location", "status"),
    [
        ("/about?a=1", "/about/?a=1", 308),
        ("/old", "/about/", 301),
        ("/gone/by", "/contact.html", 302),
        ("/away//evil.example", "/evil.example", 301),
        ("/twice/a", "/a:splat", 301),
        ("/far", "/%E6%97%A5%E6%9C%AC/?a=1#b", 301),
    ],
)
def test_address_is_redirected_in_the_site(built: Built, path: str, location: str, status: int) -> None:
    response = built.window.get(path)
    assert (response.status_code, response.headers["Location"]) == (status, location)


def test_each_answer_forbids_listing_and_stored_copies(built: Built) -> None:
    for path in ("/", "/style.css", "/missing", "/robots.txt", "/old", "/film.bin"):
        headers = built.window.get(path).headers
        assert headers["X-Robots-Tag"] == "noindex"
        assert headers["Cache-Control"] == "private, no-cache"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Disallow" not in built.window.get("/robots.txt").text, "robots see the header only if they may read"


def test_types_have_a_charset_where_they_are_text(built: Built) -> None:
    types = {
        path: built.window.get(path).headers["Content-Type"] for path in ("/", "/style.css", "/sw.js", "/film.bin")
    }
    assert types == {
        "/": "text/html; charset=utf-8",
        "/style.css": "text/css; charset=utf-8",
        "/sw.js": "text/javascript; charset=utf-8",
        "/film.bin": "application/octet-stream",
    }


@pytest.mark.parametrize("path", ["/", "/style.css"])
def test_unchanged_file_is_not_sent_again(built: Built, path: str) -> None:
    tag = built.window.get(path).headers["ETag"]
    response = built.window.get(path, headers={"If-None-Match": tag})
    assert (response.status_code, response.data, response.headers["ETag"]) == (304, b"", tag)


def test_address_of_all_builds_is_that_of_the_served_build(built: Built) -> None:
    host = f"{built.label}.preview.localhost"
    assert built.window.get("/link").text == f"<link href='http://{host}/link.css'><p>integrity=sha256-x</p>"
    assert built.window.get("/link.css").text == f"@import 'http://{host}/style.css'"


def test_range_is_sent_with_its_position(built: Built) -> None:
    response = built.window.get("/film.bin", headers={"Range": "bytes=10-19"})
    assert (response.status_code, response.data) == (206, bytes(range(10, 20)))
    assert response.headers["Content-Range"] == "bytes 10-19/10240"
    assert built.window.get("/film.bin", headers={"Range": "bytes=20000-"}).status_code == 416
    head = built.window.send("HEAD", "/film.bin")
    assert (head.data, head.headers["Content-Length"]) == (b"", "10240")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/index.html", "text/html"),
        ("index.html.gz", DEFAULT_TYPE),
        ("picture.svgz", DEFAULT_TYPE),
        ("data:text/html,a.png", "image/png"),
        ("about", DEFAULT_TYPE),
    ],
)
def test_type_is_that_of_the_ending_of_the_name(path: str, expected: str) -> None:
    assert type_of(path) == expected


def test_links_to_the_published_site_stay_in_the_build(built: Built) -> None:
    text = built.window.get("/").text
    assert "<a href='/about/'>" in text
    assert "https://www.example.org.evil/" in text


def test_service_worker_is_refused(built: Built) -> None:
    assert built.window.get("/sw.js", headers={"Service-Worker": "script"}).status_code == 403
    assert built.window.get("/sw.js").status_code == 200


def test_other_methods_are_refused(built: Built) -> None:
    assert built.window.send("POST", "/").status_code == 405


def test_build_is_hidden_from_strangers_and_former_members(built: Built, world: World) -> None:
    editor = built.open(built.site.editor)
    assert editor.get("/").status_code == 200
    path = f"/organization/remove-member/{built.site.organization}"
    built.site.owner.patch(path, {"member_id": built.site.editor.id}).ok()
    assert editor.get("/").status_code == 403
    assert _cookie_of_another(built, world).get("/").status_code == 403


def _cookie_of_another(built: Built, world: World) -> Window:
    """Return a window with the cookie of another build of another project."""
    other = Built(world)
    window = Window(built.app, {"previewUrl": f"http://{built.label}.preview.localhost/?a=1"})
    window.cookies = other.window.cookies
    return window
