"""All hostile pages of `tests/serving/hostile_site.py` in "Edit on the page" in Chromium.

No page causes a save, draft, proposal or request with the cookie of the console, or reads a text of it. The console works.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.serving.conftest import browser as browser
from tests.serving.hostile_site import PAGES
from tests.serving.hostile_visit import HostileVisit, hostile_visit


@pytest.fixture(scope="module")
def visit(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileVisit]:
    with hostile_visit(browser, tmp_path_factory.mktemp("hostile")) as visit:
        yield visit


@pytest.mark.parametrize("slug", PAGES)
def test_page_alone_changes_and_reads_nothing(visit: HostileVisit, slug: str) -> None:
    visit.check(slug)
