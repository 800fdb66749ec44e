"""Preview tour of the README in a real browser: the page is visible and follows unsaved edits.

`GALLEY_WRITE_DOCS=1` writes the screenshot of the README.
"""

import os
import statistics
import subprocess
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.serving.browser import chromium
from tests.serving.member import Member, host_of
from tests.serving.processes import ROOT, Service, running
from tests.serving.readme import comparable, steps

PICTURE = ROOT / "docs" / "screenshots" / "preview.png"
SIZE: ViewportSize = {"width": 800, "height": 560}
EDITS = 10
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
    with running(tmp_path_factory.mktemp("tour"), RATE_LIMIT_SCALE="1", WEB_CONCURRENCY="2") as service:
        yield service


def wait_for(page: Page, text: str) -> None:
    """Wait until the page shows a text."""
    expect(page.get_by_text(text).first).to_be_visible(timeout=20_000)


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium() as browser:
        yield browser.new_page(viewport=SIZE)


def test_preview_tour_shows_the_page_and_the_unsaved_text(service: Service, page: Page) -> None:
    service.wait_for("job=content.index")  # As in the first tour of the README.
    with Reader(service) as reader:
        for commands, _ in steps("Five minutes with curl")[:3]:  # The helper functions, the sign-in and the project.
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


def test_unsaved_edits_appear_without_a_reload_by_the_user(service: Service, page: Page) -> None:
    """Ten edits within the rates of a production service. The delay is printed (goal: 2 s after the call)."""
    owner = Member(service)
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
