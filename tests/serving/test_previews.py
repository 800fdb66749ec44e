"""Previews end to end: two web processes, the Hugo demo site in a sandbox, the preview tour of the README, and Chromium.

`GALLEY_WRITE_DOCS=1` writes the screenshot of the README.
"""

import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.serving.member import Member, host_of
from tests.serving.processes import ROOT, Service, running_prepared
from tests.serving.readme import comparable, steps
from tests.serving.visitor import Visitor

POST = "content/posts/a-new-keel.md"
PICTURE = ROOT / "docs" / "screenshots" / "preview.png"
SIZE: ViewportSize = {"width": 800, "height": 560}
EDITS = 5
RELOADS = "window.LiveReload !== undefined && LiveReload.connector.protocolParser.protocol === 7"
"""JavaScript condition: the page is connected to Hugo's live reload."""

FRONT = "content/_index.md"
END = "@@@@"


class Reader:
    """A shell that runs the commands of the README block by block."""

    def __init__(self, service: Service) -> None:
        env = service.env | {"PATH": f"{ROOT}/.venv/bin:{service.env['PATH']}"}
        self._errors = (service.home / "reader.log").open("w+")
        self._shell = subprocess.Popen(
            ["bash", "-seuo", "pipefail"],
            cwd=ROOT, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip

    def type(self, commands: str) -> str:
        """Run commands and return their output."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{commands}\necho {END}\n")
        self._shell.stdin.flush()
        printed = ""
        for line in self._shell.stdout:
            if line.strip() == END:
                return printed
            printed += line
        self._errors.seek(0)
        raise AssertionError(self._errors.read())

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.communicate(timeout=30)
        self._errors.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the service with the rates of production."""
    home = tmp_path_factory.mktemp("previews")
    with running_prepared(home, RATE_LIMIT_SCALE="1", WEB_CONCURRENCY="2") as service:
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


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport=SIZE) as context:
        yield context.new_page()


def wait_for(page: Page, text: str) -> None:
    """Wait until the page shows a text."""
    expect(page.get_by_text(text).first).to_be_visible(timeout=20_000)


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


class TestBrowser:
    def test_preview_tour_shows_the_page_and_the_unsaved_text(self, service: Service, page: Page) -> None:
        service.wait_for("job=content.index")  # As in the first tour of the README.
        with Reader(service) as reader:
            # The helper functions, the sign-in and the project.
            for commands, _ in steps("Five minutes with curl")[:3]:
                reader.type(commands)
            create, write, stop = steps("Previews")
            address = reader.type(create[0]).strip()
            assert address.partition("?preview_token=")[0].endswith(f".preview.localhost:{service.port}/")
            page.goto(address)
            wait_for(page, "tides, boats and the people who mend them")
            page.wait_for_function(RELOADS)
            assert comparable(reader.type(write[0])) == comparable(write[1])
            wait_for(page, "Not saved yet: fog over the quay.")
            if os.environ.get("GALLEY_WRITE_DOCS"):
                PICTURE.parent.mkdir(exist_ok=True)
                page.screenshot(path=PICTURE)
            assert comparable(reader.type(stop[0])) == comparable(stop[1])

    def test_unsaved_edits_appear_without_a_reload_by_the_user(self, owner: Member, page: Page) -> None:
        """Edits within the rates of a production service. The delay is printed (goal: 2 s after the call)."""
        preview = owner.create()
        page.goto(preview["previewUrl"])
        wait_for(page, "The Harbour Journal")
        page.wait_for_function(RELOADS)
        took_s: list[float] = []
        for number in range(EDITS):
            text = f"---\ntitle: The Harbour Journal\n---\n\nDraft number {number}.\n"
            started = time.monotonic()
            owner.create(onlyIfActive=True, uncommittedFile={"path": FRONT, "content": text})
            wait_for(page, f"Draft number {number}.")
            took_s.append(time.monotonic() - started)
            page.wait_for_function(RELOADS)
        print(f"\nunsaved edit to page: median {statistics.median(took_s):.2f} s, slowest {max(took_s):.2f} s")
        assert page.url == host_of(preview) + "/"
