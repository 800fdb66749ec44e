"""The comparison of two versions in Chromium: findings of axe-core, loaded pictures, and the order of the columns.

`GALLEY_SCREENSHOTS=FOLDER` writes each view.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.serving.test_console_screens import PNG, VIEWS, Console, repository, running_console

PATH = "content/posts/comparison.md"
MENU = [{"name": name, "link": f"/{name.lower()}/"} for name in ("Home", "Blog", "Shop", "Help")]
INTRO = "The harbour is quiet in the morning, and the ferry leaves at eight. " * 12
BEFORE = {
    "title": "الميناء القديم",
    "cover": "/images/old.png",
    "tags": ["fog", "sea", "night"],
    "menu": MENU,
    "intro": INTRO,
    "gallery": [{"image": "/images/old.png", "alt": "Pier"}],
}
AFTER = {
    "title": "الميناء الجديد",
    "cover": "/images/new.png",
    "tags": ["night", "fog", "rain"],
    "menu": [MENU[2], MENU[0], MENU[1] | {"link": "/news/"}, {"name": "Team", "link": "/team/"}],
    "intro": INTRO.replace("quiet", "calm", 1),
    "gallery": [{"image": "/images/none.png", "alt": "Pier"}, {"image": "/images/new.png", "alt": "Quay"}],
}


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running_console(browser, tmp_path_factory.mktemp("comparison")) as console:
        yield console


def page_of(values: Mapping[str, object], body: str) -> bytes:
    return f"---\n{json.dumps(values, ensure_ascii=False)}\n---\n{body}\n".encode()


@pytest.mark.server
def test_comparison_is_accessible_and_has_its_columns_in_the_order_of_the_language(console: Console) -> None:
    project, repo, page = console.sign_in(), repository(console.service), console.page
    first = repo.commit({PATH: page_of(BEFORE, "سطر أول"), "static/images/old.png": PNG}, "Add a page")
    second = repo.commit({PATH: page_of(AFTER, "سطر ثان"), "static/images/new.png": PNG}, "Change a page")
    findings = dict[str, list[str]]()
    for language in ("en", "ar"):
        page.request.post(
            f"{console.service.base}/console/account/preferences",
            form={"language": language, "theme": "system", "timezone": "UTC"},
            headers={"Origin": console.service.base},
        )
        console.open(f"{project}/history/{PATH}?base={first}&head={second}", ".compare-table")
        assert page.locator("html").get_attribute("lang") == language
        pictures = page.locator(".compare-table img")
        assert pictures.count() == 4
        for number in range(4):
            pictures.nth(number).scroll_into_view_if_needed()
            pictures.nth(number).evaluate("image => image.decode()")
        for before, after in (
            page.locator(".compare-table thead th").all()[1:],
            page.locator(".compare").last.locator(".compare__side").all(),
        ):
            boxes = before.bounding_box(), after.bounding_box()
            assert boxes[0] is not None
            assert boxes[1] is not None
            assert (boxes[0]["x"] < boxes[1]["x"]) == (language == "en")
        titles = page.locator(".compare-table tbody tr").first.locator("td").all()
        assert [title.evaluate("cell => getComputedStyle(cell).direction") for title in titles] == ["rtl", "rtl"]
        findings |= {f"{language} {width}": found for width, found in console.problems().items()}
        folder = os.environ.get("GALLEY_SCREENSHOTS")
        for size, theme in VIEWS if folder else ():
            console.resize(size, theme)
            page.screenshot(path=Path(str(folder)) / f"comparison-{language}-{size['width']}.png", full_page=True)
        console.resize(*VIEWS[0])
    assert findings == {}
