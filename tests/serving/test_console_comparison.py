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


@pytest.fixture(scope="module")
def project(console: Console) -> str:
    return console.sign_in()


def page_of(values: Mapping[str, object], body: str) -> bytes:
    return f"---\n{json.dumps(values, ensure_ascii=False)}\n---\n{body}\n".encode()


def choose_language(console: Console, language: str) -> None:
    form = {"language": language, "theme": "system", "timezone": "UTC"}
    url, headers = f"{console.service.base}/console/account/preferences", {"Origin": console.service.base}
    assert console.page.request.post(url, form=form, headers=headers).ok


def check(console: Console, name: str) -> dict[str, list[str]]:
    """Return the findings of the open page in both views, and write its pictures."""
    findings = {f"{name} {width}": found for width, found in console.problems().items()}
    folder = os.environ.get("GALLEY_SCREENSHOTS")
    for size, theme in VIEWS if folder else ():
        console.resize(size, theme)
        console.page.evaluate("scrollTo(0, 0)")
        console.page.screenshot(path=Path(str(folder)) / f"{name}-{size['width']}.png", full_page=True)
    console.resize(*VIEWS[0])
    return findings


@pytest.mark.server
def test_comparison_is_accessible_and_has_its_columns_in_the_order_of_the_language(
    console: Console, project: str
) -> None:
    repo, page = repository(console.service), console.page
    first = repo.commit({PATH: page_of(BEFORE, "سطر أول"), "static/images/old.png": PNG}, "Add a page")
    second = repo.commit({PATH: page_of(AFTER, "سطر ثان"), "static/images/new.png": PNG}, "Change a page")
    findings = dict[str, list[str]]()
    for language in ("en", "ar"):
        choose_language(console, language)
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
        findings |= check(console, f"comparison-{language}")
    assert findings == {}


@pytest.mark.server
def test_conflict_of_a_set_shows_pictures_and_is_accessible(console: Console, project: str) -> None:
    repo, page = repository(console.service), console.page
    repo.commit(
        {PATH: page_of(BEFORE, "Text"), "static/images/old.png": PNG, "static/images/new.png": PNG}, "Add a page"
    )
    api, base, headers = page.request, f"{console.service.base}/api/v1", {"Origin": console.service.base}
    url = f"{base}/project/{project.rpartition('/')[2]}/change-sets"
    set_id = api.post(url, data={"title": "New words"}, headers=headers).json()["result"]["id"]
    edit = {"path": PATH, "action": "update", "content": page_of(AFTER, "Text").decode()}
    body = {"message": "Edit", "base_sha": repo.head(), "files": [edit]}
    assert api.post(f"{base}/change-set/{set_id}/commit", data=body, headers=headers).ok
    theirs = BEFORE | {
        "intro": INTRO.replace("quiet", "loud", 1),
        "cover": "/images/none.png",
        "title": "الميناء الثاني",
    }
    repo.commit({PATH: page_of(theirs, "Text")}, "Change the page")
    findings = dict[str, list[str]]()
    for language in ("en", "ar"):
        choose_language(console, language)
        console.open(f"{project}/changes/{set_id}/conflicts", ".compare__picture")
        assert page.locator(".conflict__value ins").count() >= 4
        mine, site = (side.bounding_box() for side in page.locator(".conflict__side").all()[:2])
        assert mine is not None
        assert site is not None
        assert (mine["x"] < site["x"]) == (language == "en")
        findings |= check(console, f"conflicts-{language}")
    assert findings == {}
