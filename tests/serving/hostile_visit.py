"""A visit to hostile pages in "Edit on the page", and what it must not cause."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import sqlalchemy as sa
from playwright.sync_api import Browser, Frame, Page, Request, expect

from app.extensions import db
from app.models.base import Base
from tests.serving.hostile_site import PAGES, write_pages
from tests.serving.test_console_screens import Console, repository, running_console

CHANGES = ("project_draft", "draft_image", "change_set")
"""The begin of the names of tables with drafts and proposals."""
OWN_POSTS = ("/api/sandbox/create", "/api/sandbox/heartbeat")
"""What the console sends without an action of a person: it starts the preview."""
REST_MS = 700
WAIT_MS, MAX_WAITS = 250, 40
"""Waits for the end of the script of a page."""

HEARD = re.compile(r'\{"type":"(?:mode","edit":(?:true|false)|select","number":\d+|clear")\}')
"""All that the console sends to a page."""

MAX_LOOKUPS = 20
"""Requests for the texts of numbers in this time and in that until the console is read."""


@dataclass
class HostileVisit:
    """The console with the demo of Galley, to which the pages were added."""

    console: Console
    project: str
    requests: list[Request] = field(default_factory=list)
    """The requests to the console since the last page was opened."""
    reports: list[tuple[str, str]] = field(default_factory=list)
    """What the page reported, by kind."""
    dialogs: list[str] = field(default_factory=list)
    policy: str = ""
    """The content security policy of the last page."""

    @property
    def page(self) -> Page:
        return self.console.page

    def open(self, slug: str) -> None:
        """Open a page in the frame and wait until its script had time. Playwright's scripts count as acts of a person."""
        self.requests.clear()
        self.reports.clear()
        with self.page.expect_response(
            lambda answer: f".preview.localhost:{self.console.service.port}/hostile/{slug}/" in answer.url and answer.ok
        ) as answer:
            self.page.goto(f"{self.console.service.base}{self.project}/site?at=/hostile/{slug}/")
        self.policy = answer.value.headers.get("content-security-policy", "")
        self.page.wait_for_timeout(REST_MS)

    def is_valid(self, slug: str) -> bool:
        """Return True if the page did what it is for: its script came to the end, or its policy was sent."""
        page = PAGES[slug]
        if page.policy or page.kind == "meta":
            return page.kind == "meta" or bool(self.policy) or page.name == "ancestors"
        for _ in range(MAX_WAITS):
            if self.reported("ran"):
                return True
            self.page.wait_for_timeout(WAIT_MS)
        return False

    def reported(self, kind: str) -> list[str]:
        """Return the texts that the page reported. A page can break every script in it, but not its requests."""
        return [text for name, text in self.reports if name == kind]

    @property
    def frame(self) -> Frame:
        frame = self.page.locator("[data-site-frame]").element_handle().content_frame()
        assert frame is not None
        return frame

    def record(self, request: Request) -> None:
        """Record a request to the console, or a report of the page."""
        url = urlsplit(request.url)
        if request.url.startswith(self.console.service.base):
            self.requests.append(request)
        elif url.path == "/report":
            data = dict(parse_qsl(url.query, keep_blank_values=True))
            self.reports.append((data["kind"], data["text"]))

    def foreign_requests(self) -> list[tuple[str, str]]:
        """Return the requests with the cookie of the console, other than those that its page sends by itself."""
        return [
            (request.method, urlsplit(request.url).path)
            for request in self.requests
            if "session_token=" in request.all_headers().get("cookie", "") and not self._is_own(request)
        ]

    def _is_own(self, request: Request) -> bool:
        is_of_page = request.service_worker is None and request.frame == self.page.main_frame
        path = urlsplit(request.url).path
        # A page can name marks in its attributes, which the next start leaves out.
        own = (*OWN_POSTS, f"{self.project}/site/misplaced")
        return is_of_page and (request.method == "GET" or path in own)

    def check(self, slug: str) -> None:
        """Open a page, and check that it changed and read nothing, and that the console works."""
        stored = self.stored()
        self.open(slug)
        page = self.page
        expect(page.get_by_role("dialog")).to_be_hidden()
        assert page.url.startswith(f"{self.console.service.base}{self.project}/site?at=")
        assert self.is_valid(slug)
        assert self.reported("told") == []
        assert [text for text in self.reported("heard") if not HEARD.fullmatch(text)] == []
        assert (self.stored(), self.foreign_requests(), self.dialogs) == (stored, [], [])
        assert len([request for request in self.requests if "/site/marks" in request.url]) <= MAX_LOOKUPS
        others = [other for other in page.context.pages if other != page]
        for other in others:
            other.close()
        assert (page.evaluate("window.broken"), others) == (None, [])
        for name in ("Browse", "Edit"):
            button = page.get_by_role("button", name=name, exact=True)
            button.click()
            expect(button).to_have_attribute("aria-pressed", "true")

    def stored(self) -> dict[str, int]:
        """Return the number of commits, and of the rows of each table of changes."""
        with self.console.service.app.app_context():
            tables = Base.metadata.tables
            counts = {
                name: db.session.scalar(sa.select(sa.func.count()).select_from(table)) or 0
                for name, table in tables.items()
                if name.startswith(CHANGES)
            }
            db.session.rollback()
        return counts | {"commits": int(repository(self.console.service).text("rev-list", "--count", "main"))}


@contextmanager
def hostile_visit(browser: Browser, home: Path) -> Iterator[HostileVisit]:
    with running_console(browser, home) as console:
        project = console.sign_in()
        write_pages(repository(console.service), console.service.base + project)
        visit = HostileVisit(console, project)
        console.page.context.on("request", visit.record)
        console.page.context.on("dialog", lambda dialog: (visit.dialogs.append(dialog.type), dialog.dismiss()))
        yield visit
