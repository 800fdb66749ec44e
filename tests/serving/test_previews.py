"""Previews end to end: the service as `make run` starts it, the Hugo demo site in a sandbox, and a browser."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.serving.member import Member, host_of
from tests.serving.processes import Service, running
from tests.serving.visitor import Visitor

POST = "content/posts/a-new-keel.md"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("previews")) as service:
        yield service


@pytest.fixture(scope="module")
def owner(service: Service) -> Iterator[Member]:
    owner = Member(service, "owner")
    yield owner
    owner.stop()


@pytest.fixture
def preview(owner: Member) -> Any:
    """Start the preview of the demo project."""
    return owner.create()


class TestAdmission:
    def test_link_sets_a_cookie_of_the_host_and_the_site_is_served(self, owner: Member, preview: Any) -> None:
        first = owner.get(preview["previewUrl"])
        assert first.status == 302
        assert first.headers["Location"] == "/"
        cookie = first.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "Domain" not in cookie
        page = owner.get(host_of(preview))
        assert page.status == 200
        assert "Harbour Journal" in page.text

    def test_request_without_the_link_receives_403(self, preview: Any) -> None:
        assert Visitor().get(host_of(preview)).status == 403

    def test_cookie_of_another_preview_receives_403(self, owner: Member, preview: Any) -> None:
        owner.follow(preview["previewUrl"])
        other = host_of(preview).replace(preview["sandboxName"], "0" * 32)
        stolen = {"Cookie": owner.cookie(host_of(preview).removeprefix("http://"))}
        assert Visitor().get(other, stolen).status == 403

    def test_link_with_an_invalid_signature_receives_403(self, preview: Any) -> None:
        assert Visitor().get(preview["previewUrl"][:-4] + "AAAA").status == 403

    def test_host_without_a_preview_receives_404(self, service: Service) -> None:
        assert Visitor().get(f"http://other.preview.localhost:{service.port}/").status == 404

    def test_api_on_a_preview_host_receives_404(self, owner: Member, preview: Any) -> None:
        owner.follow(preview["previewUrl"])
        assert owner.get(host_of(preview) + "/api/v1/openapi.json").status == 404


class TestSite:
    def test_pages_and_assets_have_the_url_of_the_preview(self, owner: Member, preview: Any) -> None:
        owner.follow(preview["previewUrl"])
        assert f"{host_of(preview)}/posts/" in owner.get(host_of(preview) + "/index.xml").text
        assert owner.get(host_of(preview) + "/css/main.css").headers["Content-Type"].startswith("text/css")

    def test_uncommitted_file_is_served(self, owner: Member, preview: Any) -> None:
        owner.follow(preview["previewUrl"])
        text = "---\ntitle: A new keel\ndate: 2026-04-18\n---\n\nUnsaved words.\n"
        answer = owner.create(onlyIfActive=True, uncommittedFile={"path": POST, "content": text})
        assert answer["uncommittedSynced"] is True
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            page = owner.get(host_of(preview) + "/posts/a-new-keel/")
            if "Unsaved words." in page.text:
                return
            time.sleep(0.1)
        raise AssertionError(page.text[-2000:])

    def test_websocket_sends_reload_after_an_edit(self, owner: Member, preview: Any) -> None:
        owner.follow(preview["previewUrl"])
        channel = owner.websocket(host_of(preview) + "/livereload")
        channel.send('{"command":"hello","protocols":["http://livereload.com/protocols/official-7"]}')
        assert '"hello"' in channel.receive()
        text = f"---\ntitle: A new keel\n---\n\nWords of {time.time()}.\n"
        owner.create(onlyIfActive=True, uncommittedFile={"path": POST, "content": text})
        assert '"reload"' in channel.receive()
        channel.close()

    def test_websocket_without_the_cookie_receives_403(self, preview: Any) -> None:
        with pytest.raises(AssertionError, match="403"):
            Visitor().websocket(host_of(preview) + "/livereload")


class TestEnd:
    def test_stopped_preview_receives_410(self, service: Service) -> None:
        owner = Member(service, "owner")
        preview = owner.create(forceSync=True)
        assert owner.follow(preview["previewUrl"]).status == 200
        owner.call("/api/sandbox/stop", {"sandboxId": preview["sandboxId"]})
        assert owner.get(host_of(preview)).status == 410
