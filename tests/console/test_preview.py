"""The preview panel of the editor, without scripts, and the route that its script calls."""

import html
import re
import time

import pytest

from tests.console.test_editing import form_of
from tests.console.test_organizations import submit
from tests.resources.sandbox.conftest import PreviewSite, make_site, stop_sandboxes
from tests.support.pace import within
from tests.support.world import World

pytestmark = pytest.mark.one_database

__all__ = ["stop_sandboxes"]

FILES = {"index.html": b"<h1>Plain</h1>\n"}
BROKEN = {".galley.yml": b"preview:\n  command: exit 3\n  port: 4000\n", "index.html": b"<h1>Plain</h1>\n"}
JSON = {"Accept": "application/json", "Origin": "http://127.0.0.1:8000"}


def urls(site: PreviewSite) -> tuple[str, str]:
    """Return the URLs of the project and of the editor with the panel."""
    base = f"/console/projects/{site.project}"
    return base, f"{base}/edit/index.html?mode=source&panel=preview"


def shown_at_end(site: PreviewSite, base: str) -> str:
    """Load the page of the preview until its start has ended, and return it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        text: str = site.owner.client.get(f"{base}/preview").text
        if 'data-state="starting"' not in text:
            return text
        time.sleep(0.2)
    raise AssertionError("the start did not end")


@pytest.mark.usefixtures("stop_sandboxes")
def test_page_shows_the_steps_of_a_start_and_then_the_site(world: World) -> None:
    site = make_site(world, {".galley.yml": b"preview:\n  command: sleep 600\n  port: 4000\n", "index.html": b"Plain"})
    base, _ = urls(site)
    before = time.monotonic()
    assert submit(site.owner, f"{base}/preview").location == f"{base}/preview"
    assert time.monotonic() - before < within(5)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        shown = site.owner.client.get(f"{base}/preview").text
        if re.search(r'data-state="current" aria-current="step">Waiting for server', shown):
            break
        time.sleep(0.2)
    assert re.findall(r'<li data-state="(\w*)"', shown) == ["done"] * 4 + ["current"]
    assert '<meta http-equiv="refresh" content="3">' in shown
    assert submit(site.owner, f"{base}/preview/stop").status_code == 303
    assert "The first start can take a minute." in site.owner.client.get(f"{base}/preview").text


@pytest.mark.usefixtures("stop_sandboxes")
def test_panel_starts_the_preview_and_shows_it_in_a_frame(world: World) -> None:
    site = make_site(world, FILES)
    base, url = urls(site)
    before = site.owner.client.get(url)
    assert "<iframe" in before.text
    assert not re.search(r"<iframe[^>]* src=", before.text)
    assert 'panel=preview" formnovalidate data-panel-toggle' in site.owner.client.get(url.partition("&")[0]).text
    start = form_of(before, f'action="{base}/preview"')
    started = submit(site.owner, f"{base}/preview", **start)
    assert started.location == f"{base}/edit/index.html?panel=preview"
    assert shown_at_end(site, base) is not None
    shown = site.owner.client.get(started.location).text
    [frame] = re.findall(r'<iframe[^>]* src="([^"]+)"', shown)
    assert ".preview.localhost" in frame
    assert "preview_token=" in html.unescape(frame)


@pytest.mark.usefixtures("stop_sandboxes")
def test_unsaved_text_is_written_into_a_running_preview_only(world: World) -> None:
    site = make_site(world, FILES)
    base, url = urls(site)
    sent = form_of(site.owner.client.get(url), "editor-form")

    def follow(**more: str) -> dict[str, bool]:
        with site.world.app.app_context():
            response = site.owner.client.post(f"{base}/preview-text/index.html", data=sent | more, headers=JSON)
        assert response.status_code == 200
        result: dict[str, bool] = response.json
        return result

    before = follow(body="<h1>Typed</h1>\n")
    assert (before["active"], before["changed"]) == (False, True)
    assert "&lt;h1&gt;Typed" in before["html"]
    assert site.held() == []
    site.created()
    assert follow() == {"active": True, "changed": False}
    assert follow(body="<h1>Typed</h1>\n") == {"active": True, "changed": True}


def test_text_that_is_too_long_for_a_preview_is_refused(world: World) -> None:
    site = make_site(world, FILES)
    base, url = urls(site)
    sent = form_of(site.owner.client.get(url), "editor-form") | {"body": "x" * (1024 * 1024 + 1)}
    with site.world.app.app_context():
        response = site.owner.client.post(f"{base}/preview-text/index.html", data=sent, headers=JSON)
    assert (response.status_code, response.json["code"]) == (400, "VALIDATION_FAILED")


@pytest.mark.usefixtures("stop_sandboxes")
def test_failed_start_shows_its_log(world: World) -> None:
    site = make_site(world, BROKEN)
    base, url = urls(site)
    assert submit(site.owner, f"{base}/preview", file="index.html").status_code == 303
    shown_at_end(site, base)
    page = site.owner.client.get(url).text
    assert 'data-state="failed"' in page
    assert "Log of the start" in page


PAGE = b"""---
title: Fog signals
cover: ../static/pier.png
gallery:
  - {image: ../static/pier.png, caption: At dawn}
tags: [sea, fog]
---
**Loud** ![The pier](../static/pier.png) ![](https://other.example/x.png)

<script>alert(1)</script> [x](javascript:alert)
"""


@pytest.mark.usefixtures("stop_sandboxes")
def test_page_is_shown_without_its_site_after_a_failed_start(world: World) -> None:
    site = make_site(world, BROKEN | {"content/fog.md": PAGE, "static/pier.png": b"\x89PNG\r\n\x1a\n"})
    world.work_off()
    base, url = f"/console/projects/{site.project}", "/edit/content/fog.md?panel=preview"
    assert "The real preview is not set up." in (before := site.editor.client.get(base + url).text)
    assert "<article" not in before
    assert submit(site.owner, f"{base}/preview").status_code == 303
    shown_at_end(site, base)
    for shown_at in (url, "/preview?file=content/fog.md"):
        shown = site.editor.client.get(base + shown_at).text
        article = shown[shown.index("<article") : shown.index("</article>")]
        picture = re.escape(f"/api/v1/project-content/{site.project}/raw?file=static/pier.png")
        assert len(re.findall(f'<img src="{picture}"', article)) == 3
        assert re.findall(r"<dt>([^<]*)</dt>", article) == ["Cover", "Gallery", "1", "Image", "Caption", "Tags"]
        assert re.search("<strong>Loud</strong> <img[^>]*The pier", article)
        assert not re.search('src="https|<script|href=', article)
        assert "Log of the start" not in shown
        assert "Log of the start" in site.owner.client.get(base + shown_at).text
    sent = form_of(site.editor.client.get(base + url), "editor-form") | {"body": "Typed *now*"}
    typed = site.editor.client.post(f"{base}/preview-text/content/fog.md", data=sent, headers=JSON).json
    assert "Typed <em>now</em>" in typed["html"]


@pytest.mark.usefixtures("stop_sandboxes")
def test_page_of_a_failed_start_shows_the_complete_log(world: World) -> None:
    program = "print('first line'); print('x' * 5000); raise SystemExit(3)"
    site = make_site(world, {".galley.yml": f'preview: {{command: [python3, -c, "{program}"], port: 4000}}'.encode()})
    base, _ = urls(site)
    assert submit(site.owner, f"{base}/preview").location == f"{base}/preview"
    shown = shown_at_end(site, base)
    assert "\nfirst line\n" in shown
    assert 0 < shown.index('role="alert"') < shown.index('<li data-state="failed"') < shown.index("Log of")
    assert "\nfirst line\n" not in site.record()["failure"]["log_tail"]
