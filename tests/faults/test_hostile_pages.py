"""Hostile pages of a built site in Chromium: in the page of a review link, and in the console of a member.

The pages run their scripts. None of them reads or replaces the page around it, sends as its user, or changes another build.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Frame, Page, expect

from tests.faults.kills import Site
from tests.serving.conftest import browser as browser
from tests.support.console_assets import build_assets
from tests.support.servers.service import Service

PATIENCE_S = 180
BUILD = b"import shutil; shutil.copytree('pages', 'out')\n"
GALLEY = b"preview:\n  command: [python3, -m, http.server]\n  build: [python3, build.py]\n  output: out\n"
TRY = "const told = []; const attempt = async (name, call) => { try { told.push([name, String(await call())]); } catch (error) { told.push([name, 'refused']); } };"
END = "document.title = 'done'; window.told = told;"
FORGED = """
await new Promise((resolve) => addEventListener('load', () => setTimeout(resolve, 200)));
const send = (data) => parent.postMessage(data, '*');
for (const data of [null, 1, 'x', [], {galley: 1}, {galley: 1, kind: 'text'}, {galley: 1, kind: 'text', exact: {}, page: []},
  {galley: '1', kind: 'text', exact: 'wrong number'}, {galley: 1, kind: 'none', __proto__: {exact: 'x'}},
  {galley: 1, kind: 'text', exact: '<img src=x onerror="window.broken = 1">' + 'x'.repeat(5e6), prefix: 'p'.repeat(1e6), suffix: 7, page: '/../..//evil.example/\\r\\n'}]) send(data);
"""
SCRIPTS = {
    "parent": """
await attempt('document', () => parent.document.title); await attempt('location', () => parent.location.href);
await attempt('top', () => { top.location = 'about:blank#taken'; return 'sent'; });
await attempt('name', () => parent.guest); await attempt('storage', () => parent.localStorage.length);
await attempt('opener', () => opener.location.href);""",
    "service": """
for (const path of ['/api/v1/user/me', '/console/', '/healthz']) await attempt(path, async () => (await fetch('%(service)s' + path, {credentials: 'include'})).text());
await attempt('frame', async () => { const frame = document.createElement('iframe'); frame.src = '%(service)s/console/';
  const loaded = new Promise((resolve) => { frame.onload = resolve; }); document.body.append(frame); await loaded; return frame.contentDocument.title; });""",
    "messages": FORGED,
    "worker": "for (const path of ['/worker.js', '/worker.js?a', '/.galley/guest.js']) await attempt(path, async () => (await navigator.serviceWorker.register(path)).scope);",
    "cookies": """
for (const host of ['preview.localhost', 'localhost', location.hostname]) for (const name of ['preview_session', 'session_token', '__Host-session_token'])
  document.cookie = `${name}=forged; domain=${host}; path=/`;
document.cookie = 'preview_session=forged; path=/';
await attempt('cookies', () => { if (document.cookie.includes('session_token=')) return document.cookie; throw 0; });""",
    "popup": "await attempt('popup', () => { const other = open('about:blank'); return other.opener.parent.document.title; });",
}
BODIES = {
    "imitation": '<form id="form" method="post" action="%(service)s/review/x/verdict"><input name="verdict" value="approve"></form><script>form.submit()</script>',
    "refresh": '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/"><p>Away</p>',
    "base": '<base href="https://evil.example/a/" target="_top"><p>The sentence of the page</p>',
    "policy": "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'; frame-ancestors 'none'\"><p>Policy</p>",
    "drawing": '<object data="/drawing.svg" type="image/svg+xml"></object><iframe src="/drawing.svg"></iframe>',
    "unclosed": "<p>Text</p><textarea><!-- <plaintext>",
    "leave": '<a id="leave" href="about:blank#taken" target="_top" style="display:block;height:90vh">Leave</a>',
}
DRAWING = "<svg xmlns='http://www.w3.org/2000/svg'><script>top.location = 'about:blank#taken'; parent.document.title = 'taken'</script></svg>"
PAGES = (*SCRIPTS, *BODIES)


def pages(service: Service) -> dict[str, bytes]:
    scripts = {
        name: f"<title>{name}</title><p>Page</p><script>(async () => {{ {TRY} {text} {END} }})()</script>"
        for name, text in SCRIPTS.items()
    }
    texts = {name: f"<title>{name}</title>{text}" for name, text in BODIES.items()} | scripts
    files = {f"pages/{name}.html": text.replace("%(service)s", service.url).encode() for name, text in texts.items()}
    return files | {"pages/worker.js": b"self.onfetch = () => {}", "pages/drawing.svg": DRAWING.encode()}


@dataclass
class Review:
    """A set with hostile pages, its builds, and a link for a guest."""

    site: Site
    service: Service
    owner: requests.Session
    set_id: str
    url: str

    def call(self, method: str, path: str, body: object = None) -> Any:
        answer = self.owner.request(method, f"{self.service.url}/api/v1{path}", json=body, timeout=60)
        assert answer.ok, answer.text
        return answer.json()

    @property
    def base(self) -> str:
        return self.url.partition("/review/")[0]

    def state(self) -> str:
        return str(self.call("GET", f"/change-set/{self.set_id}")["result"]["state"])

    def wait_for_builds(self) -> None:
        state, ends = None, time.monotonic() + PATIENCE_S
        while state != "ready":
            assert time.monotonic() < ends, state
            time.sleep(0.5)
            state = self.call("GET", f"/change-set/{self.set_id}/pages")["meta"]["state"]

    def comments(self) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = self.call("GET", f"/change-set/{self.set_id}/comments")["result"]
        return result


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Review]:
    build_assets()
    with Service(tmp_path_factory.mktemp("pages"), BUILD_PROCESSES="1") as service:
        site = Site(service)
        try:
            site.repository.commit({".galley.yml": GALLEY, "build.py": BUILD, "pages/index.html": b"<p>Home</p>"})
            review = Review(site, service, service.client(site.owner), "", "")
            made = review.call("POST", f"/project/{site.project}/change-sets", {"title": "Pages"})["result"]
            review.set_id = made["id"]
            files = [
                {"path": path, "action": "create", "content": content.decode()}
                for path, content in pages(service).items()
            ]
            body = {"message": "Pages", "base_sha": site.repository.head(), "files": files}
            review.call("POST", f"/change-set/{review.set_id}/commit", body)
            review.call("POST", f"/change-set/{review.set_id}/submit", {})
            review.wait_for_builds()
            link = review.call("POST", f"/change-set/{review.set_id}/review-links", {"rights": "approve"})["result"]
            review.url = link["url"]
            yield review
        finally:
            site.close()


def opened(browser: Browser, review: Review, name: str) -> Page:
    """Open the page of the link with a page of the site, as a guest with a name."""
    page = browser.new_context().new_page()
    page.goto(f"{review.url}?page=/{name}.html")
    page.get_by_label("Your name").fill("Gina Guest")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("Comment on this page")).to_be_visible()
    return page


def frame_of(page: Page) -> Frame:
    frame = page.locator("iframe[data-guest-frame]").element_handle().content_frame()
    assert frame is not None
    return frame


def attempts_in(frame: Frame) -> list[list[str]]:
    """Return what the script of a page was able to do."""
    frame.wait_for_function("window.told && document.title === 'done'")
    told: list[list[str]] = frame.evaluate("window.told")
    return told


@pytest.mark.parametrize("name", PAGES)
def test_page_in_the_frame_of_a_guest_reaches_nothing_around_it(browser: Browser, review: Review, name: str) -> None:
    page = opened(browser, review, name)
    title, address, written = page.title(), page.url, len(review.comments())
    if name in SCRIPTS:
        told = attempts_in(frame_of(page))
        assert [entry for entry in told if entry[1] != "refused"] == []
    if name == "leave":
        page.frame_locator("iframe[data-guest-frame]").locator("#leave").click()
    page.wait_for_timeout(500)
    assert (page.title(), page.url, page.evaluate("window.broken")) == (title, address, None)
    for field in page.locator("[data-guest-comment] input[type=hidden]").all():
        assert len(field.input_value()) <= 2_048
    assert (review.state(), len(review.comments())) == ("in_review", written)
    page.context.close()


def test_forged_messages_are_no_more_than_a_quotation_of_the_guest(browser: Browser, review: Review) -> None:
    page = opened(browser, review, "messages")
    attempts_in(frame_of(page))
    expect(page.locator("[data-guest-quote] blockquote")).to_contain_text("<img")
    page.get_by_label("Comment on this page").fill("Looks wrong")
    page.get_by_role("button", name="Send the comment").click()
    expect(page.get_by_role("status").or_(page.get_by_role("alert")).first).to_be_visible()
    assert all(str(comment["page"]).startswith("/") for comment in review.comments())
    page.context.close()


def test_guest_quotes_a_page_with_a_base_address(browser: Browser, review: Review) -> None:
    page = opened(browser, review, "base")
    page.frame_locator("iframe[data-guest-frame]").get_by_text("The sentence of the page").click()
    expect(page.locator("[data-guest-quote] blockquote")).to_have_text("The sentence of the page")
    page.context.close()


def test_page_opened_by_itself_has_no_opener(browser: Browser, review: Review) -> None:
    page = opened(browser, review, "policy")
    with page.context.expect_page() as new:
        page.get_by_role("link", name="Open the page by itself").click()
    assert new.value.evaluate("window.opener") is None
    page.context.close()


def member(browser: Browser, review: Review) -> Page:
    """Return a page of the owner of the site."""
    context = browser.new_context()
    context.add_cookies([{"name": "session_token", "value": review.site.owner.token, "url": review.base}])
    return context.new_page()


def test_page_in_the_console_does_not_replace_it(browser: Browser, review: Review) -> None:
    page = member(browser, review)
    address = f"{review.base}/console/projects/{review.site.project}/changes/{review.set_id}/site/page?at=/leave.html"
    page.goto(address)
    page.frame_locator(".site-pair__side--after iframe").locator("#leave").click()
    page.wait_for_timeout(500)
    assert page.url == address
    page.context.close()


def test_cookies_of_a_page_do_not_close_another_build(browser: Browser, review: Review) -> None:
    page = member(browser, review)
    page.goto(review.url + "?page=/cookies.html")
    attempts_in(frame_of(page))
    console = f"{review.base}/console/projects/{review.site.project}"
    for path in (f"/changes/{review.set_id}/open-site?at=/", f"/changes/{review.set_id}/open-site?at=/base.html"):
        answer = page.goto(console + path)
        assert answer is not None
        assert (answer.status, page.url.startswith(console)) == (200, False)
    assert page.goto(f"{console}/changes") is not None
    assert page.url == f"{console}/changes"
    page.context.close()
