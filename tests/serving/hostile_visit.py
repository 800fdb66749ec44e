"""A visit to hostile pages in "Edit on the page", and what it must not cause."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import sqlalchemy as sa
from playwright.sync_api import Browser, Frame, Page, Request, expect

from app.extensions import db
from app.models.base import Base
from tests.serving.hostile_site import write_pages
from tests.serving.test_console_screens import Console, repository, running_console

ADDRESS = re.compile(r"\.preview\.localhost")
STORED = ("content_drafts", "change_sets", "change_set_comments", "commits", "editor_texts")
REST_MS = 700
NOT_READ = ("attempt-hang",)


@dataclass
class HostileVisit:
    """The console with the demo of Galley, to which the pages were added."""

    console: Console
    project: str
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and place of the requests to the console that had its cookie: `page`, `frame` or `popup`."""

    @property
    def page(self) -> Page:
        return self.console.page

    def open(self, slug: str) -> None:
        """Open a page in the frame and wait until its script had time."""
        self.requests.clear()
        self.page.goto(f"{self.console.service.base}{self.project}/site?at=/hostile/{slug}/")
        self.page.locator("[data-site-stage]:not([hidden])").wait_for(timeout=60_000)
        expect(self.page.locator("[data-site-frame]")).to_have_attribute("src", ADDRESS)
        self.page.wait_for_timeout(REST_MS)

    @property
    def frame(self) -> Frame:
        frame = self.page.locator("[data-site-frame]").element_handle().content_frame()
        assert frame is not None
        return frame

    def record(self, request: Request) -> None:
        """Record a request to the console with its cookie."""
        if not request.url.startswith(self.console.service.base):
            return
        try:
            frame = request.frame
            place = "page" if frame == self.page.main_frame else "frame" if frame.page == self.page else "popup"
        except Exception:
            place = "worker"
        self.requests.append((request.method, urlsplit(request.url).path, place, request))  # type: ignore[arg-type]

    def with_cookie(self) -> list[tuple[str, str, str]]:
        """Return the requests with the cookie of the console, but for those of its own page for marks and forms."""
        result = []
        for method, path, place, request in self.requests:  # type: ignore[misc]
            if place == "page" and (path.startswith("/console/static/") or method == "GET"):
                continue
            if place == "page" and path == "/api/sandbox/heartbeat":
                continue
            cookie = request.all_headers().get("cookie", "")
            if "session_token=" in cookie and "session_token=forged" not in cookie:
                result.append((method, path, place))
        return result

    def stored(self) -> dict[str, int]:
        """Return the number of commits, and of the rows of each table of changes."""
        with self.console.service.app.app_context():
            tables = Base.metadata.tables
            counts = {
                name: db.session.scalar(sa.select(sa.func.count()).select_from(table)) or 0
                for name, table in tables.items()
                if "draft" in name or "change_set" in name
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
        yield visit
