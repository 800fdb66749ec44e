"""Tests of the documentation site: a strict build, and agreement with the code."""

import functools
import importlib.util
import os
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
import urllib3

from app.settings.variables import Environment

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = re.compile(r"""(?:src|href)=["']?(?:https?:)?//(?!github\.com|squidfunk|127\.0\.0\.1|zensical)[^"'> ]+""")


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the site without a log."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


class Links(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the id and the link of an element."""
        values = {name: value or "" for name, value in attrs}
        self.ids.add(values.get("id", ""))
        self.targets += [values[name] for name in ("href", "src") if name in values]


def is_valid_link(page: Path, link: str, pages: dict[Path, Links]) -> bool:
    """Return whether a link works without a web server."""
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return target.is_file() and (not parts.fragment or unquote(parts.fragment) in pages[target].ids)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site. Any warning, such as a dead link, is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """Return the hook that generates pages."""
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "deploy" / "site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestSite:
    def test_strict_build_contains_every_page_of_the_menu(self, site: Path) -> None:
        assert {"tour", "configuration", "operations", "security", "architecture", "scale"} <= {
            page.stem for page in site.glob("*.html")
        }

    def test_pages_load_no_external_resource(self, site: Path) -> None:
        loaded = re.compile(r"<(?:script|img|iframe|link)\b[^>]*>")
        found = [
            tag
            for page in site.rglob("*.html")
            for tag in loaded.findall(page.read_text(encoding="utf-8"))
            if ELSEWHERE.search(tag) and "canonical" not in tag
        ]
        assert found == []

    def test_links_refer_to_existing_files_and_anchors(self, site: Path) -> None:
        pages = {page: Links(page) for page in site.rglob("*.html")}
        broken = [
            (page.name, link)
            for page, links in pages.items()
            for link in links.targets
            if not urlsplit(link).scheme and not is_valid_link(page, link, pages)
        ]
        assert broken == []

    def test_links_work_over_http(self, site: Path) -> None:
        handler = functools.partial(QuietHandler, directory=site)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                base = f"http://127.0.0.1:{server.server_port}/"
                addresses = {
                    urldefrag(urljoin(base + page.relative_to(site).as_posix(), link)).url
                    for page in site.rglob("*.html")
                    for link in Links(page).targets
                    if not urlsplit(link).scheme
                }
                broken = {url for url in addresses if urllib3.request("GET", url).status != 200}
            finally:
                server.shutdown()
                thread.join()
        assert len(addresses) > 50
        assert broken == set()

    def test_reference_lists_nested_fields(self, site: Path) -> None:
        page = (site / "api" / "content.html").read_text(encoding="utf-8")
        assert "<code>files[].previous_path</code>" in page
        assert "<code>result.files[].sha</code>" in page

    def test_tour_equals_the_readme(self, site: Path) -> None:
        assert "content/posts/winter-berths.md" in (site / "tour.html").read_text(encoding="utf-8")

    def test_configuration_page_lists_every_variable(self, pages: ModuleType) -> None:
        text = pages.configuration()
        assert [name for name in Environment().fields if f"| `{name}` |" not in text] == []

    def test_routes_are_each_on_exactly_one_page(self, pages: ModuleType) -> None:
        named = [
            tag
            for page in (ROOT / "docs/api").glob("*.md")
            for found in pages.ROUTES.findall(page.read_text(encoding="utf-8"))
            for tag in found.replace(" ", "").split(",")
        ]
        assert sorted(named) == sorted(pages.reference().tags())
