"""Requests that a Git client does not send: other URLs, methods, framings and compressions."""

import gzip
import threading
import time
import zlib
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from app.git_http.middleware import ORGANIZATION_SHARE, GitServer
from app.git_http.push import HOOK, install_hook
from app.git_http.responses import GitRefusal
from tests.git_http.client import Site

UPLOAD, RECEIVE = "git-upload-pack", "git-receive-pack"
LIST_REFS = b"0014command=ls-refs\n0000"
TYPE = {"Content-Type": "application/x-git-upload-pack-request", "Git-Protocol": "version=2"}


class TestTargets:
    @pytest.mark.parametrize(
        "path",
        [
            "{}.git/info/refs",
            "{}.git/info/refs?service=",
            "{}.git/info/refs?service=git-upload-archive",
            "{}.git/info/refs?service=git-upload-pack&service=git-receive-pack",
            "{}.git/HEAD",
            "{}.git/objects/info/packs",
            "{}.git/objects/aa/" + "b" * 38,
            "{}.git/config",
            "{}.git",
            "{}.git.git/info/refs?service=git-upload-pack",
            "{}.git/../x/info/refs?service=git-upload-pack",
            "../{}.git/info/refs?service=git-upload-pack",
            "..%2F..%2Fetc/info/refs?service=git-upload-pack",
            "acme%2F..%2F{}/info/refs?service=git-upload-pack",
            "acme/%00/info/refs?service=git-upload-pack",
            "acme/%0d%0aX-Injected:%20a/info/refs?service=git-upload-pack",
            "/{}.git/info/refs?service=git-upload-pack",
            "{}.git//info/refs?service=git-upload-pack",
            "acme/%ff/info/refs?service=git-upload-pack",
            "acme/.hooks/info/refs?service=git-upload-pack",
            "acme/" + "a" * 3000 + "/info/refs?service=git-upload-pack",
        ],
    )
    def test_other_urls_do_not_exist(self, site: Site, path: str) -> None:
        answer = site.get(f"/git/{path.format(site.repository)}", token=site.token())
        assert answer.status == 404
        assert "X-Injected" not in answer.headers

    def test_percent_encoded_name_is_the_same_repository(self, site: Site) -> None:
        owner, _, name = site.repository.partition("/")
        path = f"/git/{owner}/%{ord(name[0]):02x}{name[1:]}.git/info/refs?service={UPLOAD}"
        assert site.get(path, token=site.token()).status == 200

    def test_symbolic_link_is_not_a_repository(self, site: Site) -> None:
        link = site.repo.folder.with_name("linked.git")
        if not link.is_symlink():
            link.symlink_to(site.repo.folder)
        answer = site.get(f"/git/acme/linked.git/info/refs?service={UPLOAD}", token=site.token())
        assert answer.status == 404

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("HEAD", f"info/refs?service={UPLOAD}", "GET"),
            ("POST", f"info/refs?service={UPLOAD}", "GET"),
            ("OPTIONS", f"info/refs?service={UPLOAD}", "GET"),
            ("GET", UPLOAD, "POST"),
            ("DELETE", RECEIVE, "POST"),
        ],
    )
    def test_other_methods_are_not_allowed(self, site: Site, method: str, path: str, allowed: str) -> None:
        answer = site.send(method, f"/git/{site.repository}.git/{path}", token=site.token())
        assert (answer.status, answer.headers["Allow"]) == (405, allowed)

    def test_response_has_no_cache_and_a_request_id(self, site: Site) -> None:
        answer = site.get(f"/git/{site.repository}.git/info/refs?service={UPLOAD}", token=site.token())
        assert answer.headers["Content-Type"] == "application/x-git-upload-pack-advertisement"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Request-Id"]


class TestBodies:
    def post(self, site: Site, body: bytes, headers: dict[str, str] | None = None, **options: object) -> object:
        path = f"/git/{site.repository}.git/{UPLOAD}"
        return site.send("POST", path, body, token=site.token("read"), headers=TYPE | (headers or {}), **options)

    @pytest.mark.parametrize(
        ("headers", "body", "status"),
        [
            ({}, LIST_REFS, 200),
            ({"Content-Encoding": "gzip"}, gzip.compress(LIST_REFS), 200),
            ({"Content-Encoding": "X-GZIP"}, gzip.compress(LIST_REFS), 200),
            ({"Expect": "100-continue"}, LIST_REFS, 200),
            ({"Content-Type": "application/x-git-receive-pack-request"}, LIST_REFS, 415),
            ({"Content-Type": "application/json"}, LIST_REFS, 415),
            ({"Content-Encoding": "deflate"}, zlib.compress(LIST_REFS), 415),
            ({"Content-Encoding": "gzip"}, LIST_REFS, 400),
            ({"Content-Encoding": "gzip"}, gzip.compress(LIST_REFS)[:-9], 400),
            ({"Content-Encoding": "gzip"}, gzip.compress(b"0000" * (4 << 20), 1), 413),
            ({"Content-Length": str(11 << 20)}, b"", 413),
            ({"Content-Length": "-1"}, b"", 400),
        ],
    )
    def test_status_of_a_body(self, site: Site, headers: dict[str, str], body: bytes, status: int) -> None:
        answer = self.post(site, body, headers)
        assert answer.status == status
        if status == 200:
            assert site.head() in answer.text

    @pytest.mark.parametrize("protocol", ["version=2:evil", "x" * 900, "version=9"])
    def test_other_protocol_versions_are_ignored(self, site: Site, protocol: str) -> None:
        path = f"/git/{site.repository}.git/info/refs?service={UPLOAD}"
        answer = site.get(path, token=site.token(), headers={"Git-Protocol": protocol})
        assert answer.status == 200
        assert site.head() in answer.text

    @pytest.mark.parametrize(
        ("head", "body", "status"),
        [
            ("Transfer-Encoding: chunked", b"18\r\n" + LIST_REFS + b"\r\n0\r\n\r\n", 200),
            ("Transfer-Encoding: chunked", b"ZZ\r\n" + LIST_REFS, 400),
            ("Accept: */*", b"", 411),
            ("Content-Length: 24\r\nConnection: close", LIST_REFS, 200),
        ],
    )
    def test_framings(self, site: Site, head: str, body: bytes, status: int) -> None:
        answer = site.raw(f"POST /git/{site.repository}.git/{UPLOAD} HTTP/1.1", head, body, token=site.token("read"))
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())

    def test_http_1_0_receives_an_unchunked_response(self, site: Site) -> None:
        line = f"POST /git/{site.repository}.git/{UPLOAD} HTTP/1.0"
        answer = site.raw(line, f"Content-Length: {len(LIST_REFS)}", LIST_REFS, token=site.token("read"))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b" 200 " in head.splitlines()[0]
        assert b"chunked" not in head
        assert str(site.head()).encode() in body
        assert body.endswith(b"0000")

    def test_connection_serves_a_second_request(self, site: Site) -> None:
        token = site.token("read")
        with site.connection() as connection:
            for _ in range(3):
                answer = site.send("POST", f"/git/{site.repository}.git/{UPLOAD}", LIST_REFS, token=token,
                                   headers=TYPE, connection=connection)  # fmt: skip
                assert answer.status == 200

    def test_damaged_repository_is_a_server_error_without_paths(self, site: Site) -> None:
        token = site.token("read")
        (site.repo.folder / "config").write_text("[core\n")
        answer = site.get(f"/git/{site.repository}.git/info/refs?service={UPLOAD}", token=token)
        assert answer.status == 502
        assert str(site.repo.folder) not in answer.text


class TestHook:
    def test_changed_hook_is_replaced(self, tmp_path: Path) -> None:
        hook = install_hook(tmp_path) / "pre-receive"
        for text, mode in (("#!/bin/sh\nexit 0\n", 0o755), (HOOK, 0o644)):
            hook.write_text(text)
            hook.chmod(mode)
            install_hook(tmp_path)
            assert hook.read_text() == HOOK
            assert hook.stat().st_mode & 0o111
        assert [file.name for file in hook.parent.iterdir()] == ["pre-receive"]


@pytest.mark.one_database
def test_requests_that_wait_for_their_organization_occupy_no_slot(app: Flask) -> None:
    settings = app.config["SETTINGS"]
    server = GitServer(app, replace(settings, git=replace(settings.git, http_processes=ORGANIZATION_SHARE + 2)))

    def wait(user: str) -> None:
        with suppress(GitRefusal), server.slot(user, "organization"):
            pass

    waiting = [threading.Thread(target=wait, args=(f"waiting {number}",)) for number in range(2)]
    with ExitStack() as share:
        for number in range(ORGANIZATION_SHARE):
            share.enter_context(server.slot(f"user {number}", "organization"))
        for thread in waiting:
            thread.start()
        time.sleep(0.2)
        with server.slot("user", "other organization"):
            assert all(thread.is_alive() for thread in waiting)
    for thread in waiting:
        thread.join()
