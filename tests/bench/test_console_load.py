"""Loading of the console compared with Sveltia CMS and Decap CMS, in one Chromium with the same 1,500 entries.

Each page is opened in a new browser (cold) and again in the same one (warm). The peers are signed in and have no image or
font of another host. `console_peers` describes what each of them loads.
"""

import html
import itertools
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urljoin

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page

from tests.bench import large
from tests.bench.console_peers import PeerSite, configuration, peer_site
from tests.serving.browser import chromium
from tests.support import factories
from tests.support.databases import postgresql_database
from tests.support.samples.gitrepo import Content, GitRepo
from tests.support.servers.service import Service

ENTRIES, ROUNDS = 1_500, 7
LIST_SIZES, LIST_ROUNDS = (1_500, 20_000), 15
LISTS = {
    "first page": "",
    "filter by state": "?state=draft",
    "sort by title": "?sort=title",
    "group by year": "?group=year",
    "search": "?q=Post+77",
    "search without a match": "?q=none",
}
"""The lists that are measured without a browser. `page 10` is added."""

LOCAL_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
TIMEOUT_MS, SETTLE_MS = 120_000, 700
VIEWPORT = {"width": 1440, "height": 900}
MARK = "zq"
CLICKABLE = """selector => {
  const found = [...document.querySelectorAll(selector)].find((each) => {
    const box = each.getBoundingClientRect();
    const x = box.left + Math.min(box.width / 2, 40), y = box.top + Math.min(box.height / 2, 12);
    const top = box.width && box.height ? document.elementFromPoint(x, y) : null;
    return top && (each.contains(top) || top.contains(each));
  });
  return found ? performance.now() : 0;
}"""
"""JavaScript: the time at which a click on an element would reach it. It runs in each frame until it is true."""

TYPED = """([selector, mark]) =>
  [...document.querySelectorAll(selector)].some((each) => each.textContent.includes(mark)) ? performance.now() : 0"""
PEER_USERS = """localStorage.setItem("sveltia-cms.user", JSON.stringify({backendName: "gitea", token: "x"}));
localStorage.setItem("decap-cms-user", JSON.stringify({backendName: "proxy"}));"""


def entry(number: int) -> bytes:
    """Return an entry of about 2 KB."""
    words = [large.VOCABULARY[(number * 7 + n * 131) % len(large.VOCABULARY)] for n in range(300)]
    paragraphs = "\n\n".join(" ".join(words[start : start + 60]) for start in range(0, 300, 60))
    head = (
        f"title: Post {number} of the {words[0]}\ndate: {2010 + number % 15}-{1 + number % 12:02}-{1 + number % 28:02}"
    )
    return f"---\n{head}\ndraft: {str(number % 10 == 0).lower()}\nsummary: About {words[1]}\n---\n\n{paragraphs}\n".encode()


def entries(count: int) -> dict[str, bytes]:
    return {f"content/posts/post-{number:05}.md": entry(number) for number in range(count)}


@dataclass
class Load:
    """One page load: the bytes and requests on the wire until it is usable, and the time until then."""

    kilobytes: float
    requests: int
    seconds: float


@dataclass
class Candidate:
    """A list and an editor, with the selectors of the first row and of the text. Each load edits another entry."""

    name: str
    list_url: str
    editor_url: str
    row: str
    text: str
    cookie: dict[str, Any] | None = None
    numbers: Iterator[int] = field(default_factory=itertools.count)
    loads: dict[tuple[str, str], list[Load]] = field(default_factory=dict)

    def measure(self, browser: Browser) -> None:
        """Open the list, then the editor, each in a new browser and again in the same one."""
        for what in ("list", "editor"):
            context = browser.new_context(viewport=VIEWPORT, locale="en", reduced_motion="reduce")
            context.set_default_timeout(TIMEOUT_MS)
            if self.cookie is not None:
                context.add_cookies([self.cookie])
            else:
                context.add_init_script(PEER_USERS)
            for state in ("cold", "warm"):
                url = self.list_url if what == "list" else self.editor_url.format(next(self.numbers))
                self.loads.setdefault((what, state), []).append(self._load(context, what, url))
            context.close()

    def _load(self, context: BrowserContext, what: str, url: str) -> Load:
        page = context.new_page()
        received = _count_bytes(page)
        page.goto(url, wait_until="commit")
        if what == "list":
            seconds = page.wait_for_function(CLICKABLE, arg=self.row, polling="raf").json_value() / 1_000
        else:
            page.wait_for_function(CLICKABLE, arg=self.text, polling="raf")
            seconds = self._type(page)
        page.wait_for_timeout(SETTLE_MS)
        page.close()
        return Load(sum(received) / 1_000, len(received), seconds)

    def _type(self, page: Page) -> float:
        """Type in the text until it appears. Return the seconds since the start of the page."""
        text = page.locator(self.text).first
        while True:
            text.click()
            page.keyboard.type(MARK)
            seen = page.evaluate(TYPED, [self.text, MARK])
            if seen:
                return float(seen) / 1_000

    def line(self, what: str, state: str, base: "Candidate | None") -> str:
        """Return the medians, and how many times those of another candidate they are."""
        kilobytes, requests, seconds = self.medians(what, state)
        text = f"    {self.name}: {kilobytes:,.0f} kB, {requests:.0f} requests, {seconds:.2f} s"
        if base is None:
            return text
        others = base.medians(what, state)
        ratios = (own / max(other, 0.01) for own, other in zip((kilobytes, requests, seconds), others, strict=True))
        return text + " = {:.1f} × the bytes, {:.1f} × the requests, {:.1f} × the time".format(*ratios)

    def medians(self, what: str, state: str) -> tuple[float, float, float]:
        loads = self.loads[what, state]
        return (
            median(one.kilobytes for one in loads),
            median(one.requests for one in loads),
            median(one.seconds for one in loads),
        )


def _count_bytes(page: Page) -> list[float]:
    """Return a list that receives the bytes of each response on the wire, with its head. The cache sends none."""
    received: list[float] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on(
        "Network.loadingFinished",
        lambda event: received.append(event["encodedDataLength"]) if event["encodedDataLength"] else None,
    )
    return received


@contextmanager
def galley(home: Path, name: str, files: dict[str, Content], **environment: str) -> Iterator[Candidate]:
    """Run the service with a project of these files, whose entries are indexed."""
    home.mkdir()
    service = Service(home, workers=1, **environment)
    world, person = service.world, service.world.person()
    repository = f"bench/{name.lower()}"
    GitRepo(world.git_root / f"{repository}.git", files)
    project = factories.project(world, person, factories.organization(world, person), repository)
    world.work_off(within_s=600)
    with service:
        base = f"{service.url}/console/projects/{project}"
        yield Candidate(
            f"Galley on {name}",
            f"{base}/collections/posts",
            base + "/edit/content/posts/post-{:05}.md",
            "#rows .table__main a",
            ".ProseMirror",
            {"name": "session_token", "value": person.token, "url": service.url},
        )


def peers_of(site: PeerSite) -> list[Candidate]:
    own = {
        "sveltia": ("Sveltia CMS", "[role=row] .title"),
        "decap": ("Decap CMS", "a[href*='/collections/posts/entries/']"),
    }
    texts = {"sveltia": "[contenteditable=true]", "decap": "[data-slate-editor=true]"}
    return [
        Candidate(label, site.page(name, ""), site.page(name, "/entries/post-{:05}"), row, texts[name])
        for name, (label, row) in own.items()
    ]


def work_tree(folder: Path, files: dict[str, Content]) -> Path:
    """Clone a repository of these files for decap-server."""
    bare = GitRepo(folder / "peers.git", files)
    subprocess.run(["git", "clone", "--quiet", "--branch", "main", bare.folder, folder / "peers"], check=True)
    return folder / "peers"


class TestConsoleLoad:
    def test_bytes_and_times_are_printed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        posts = entries(ENTRIES)
        files: dict[str, Content] = {
            **posts,
            "static/admin/config.yml": configuration({"name": "git-gateway"}).encode(),
        }
        with ExitStack() as stack:
            url = stack.enter_context(postgresql_database())
            own = [
                stack.enter_context(galley(tmp_path / "sqlite", "SQLite", files)),
                stack.enter_context(galley(tmp_path / "postgresql", "PostgreSQL", files, DATABASE_URL=url)),
            ]
            site = stack.enter_context(peer_site(work_tree(tmp_path, files), posts))
            peers = peers_of(site) if site is not None else []
            browser = stack.enter_context(chromium(LOCAL_ONLY))
            for _ in range(ROUNDS):
                for candidate in (*own, *peers):
                    candidate.measure(browser)
        lines = [f"\nThe list of {ENTRIES:,} entries and one editor, medians of {ROUNDS} runs"]
        for what, state in (("list", "cold"), ("list", "warm"), ("editor", "cold"), ("editor", "warm")):
            lines.append(f"  {what}, {state} cache")
            lines += [own[0].line(what, state, None)]
            lines += [each.line(what, state, own[0]) for each in (*own[1:], *peers)]
        with capsys.disabled():
            print("\n".join(lines))

    @pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
    def test_times_of_lists_are_printed(
        self, tmp_path: Path, database: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        lines = [f"\n{database}: lists of entries, medians of {LIST_ROUNDS} requests, kB compressed"]
        for size in LIST_SIZES:
            with ExitStack() as stack:
                more = {"DATABASE_URL": stack.enter_context(postgresql_database())} if database == "PostgreSQL" else {}
                files = {**entries(size), "static/admin/config.yml": configuration({"name": "git-gateway"}).encode()}
                candidate = stack.enter_context(galley(tmp_path / str(size), database, files, **more))
                lines += [f"  {size:,} entries", *_list_lines(candidate)]
        with capsys.disabled():
            print("\n".join(lines))


def _list_lines(candidate: Candidate) -> Iterator[str]:
    """Measure the pages of lists with plain requests."""
    session = requests.Session()
    assert candidate.cookie is not None
    # The cookie of a list would add its view to the next one.
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.headers["Cookie"] = f"session_token={candidate.cookie['value']}"
    urls = {name: candidate.list_url + query for name, query in LISTS.items()}
    urls["page 10"] = _later_page(session, candidate.list_url, 9)
    for name, url in urls.items():
        taken, size = [], 0
        for _ in range(LIST_ROUNDS + 1):
            started = time.perf_counter()
            answer = session.get(url, stream=True, timeout=60)
            size = len(answer.raw.read())
            taken.append(time.perf_counter() - started)
            assert answer.status_code == 200, (name, answer.status_code)
        yield f"    {name}: {median(taken[1:]) * 1_000:.0f} ms, {size / 1_000:.1f} kB"


def _later_page(session: requests.Session, url: str, pages: int) -> str:
    """Follow the link to more entries, and return the URL of the last page."""
    for _ in range(pages):
        [more] = re.findall(r'<p class="pagination"[^>]*><a class="button" href="([^"]*)"', session.get(url).text)
        url = urljoin(url, html.unescape(more))
    return url
