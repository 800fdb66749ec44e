"""The pages of the console at 390 pixels in the languages of the console: no label is cut, and no page is too wide.

`GALLEY_LONG=1` opens the pages in all languages.
"""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from app.core.locales import LANGUAGES
from tests.serving.test_console_screens import FILE, VIEWS, Console, new_set, page_paths, running_console

LONGEST = ("de", "ru", "ar")
CUT_LABELS = """() => {
  for (const part of document.querySelectorAll("details:not([open])")) part.open = true;
  const labels = "a, button, label, legend, summary, th, dt, h1, h2, h3, option:checked, [role=tab], .badge, .field__label";
  const isInside = (element) => element.closest("bdi, [dir=auto], pre, code, .visually-hidden, .skip-link, iframe");
  const edges = (element) => {
    for (let parent = element.parentElement; parent && parent !== document.body; parent = parent.parentElement)
      if (/auto|scroll/.test(getComputedStyle(parent).overflowX)) return parent.getBoundingClientRect();
    return element.getBoundingClientRect();
  };
  const findings = [];
  for (const label of document.querySelectorAll(labels)) {
    if (!label.checkVisibility({ visibilityProperty: true }) || isInside(label) || label.querySelector("bdi, [dir=auto]")) continue;
    const box = edges(label), style = getComputedStyle(label);
    const isCut = style.overflowX !== "visible" && label.scrollWidth > label.clientWidth + 1;
    const isOutside = box.width > 1 && (box.right > innerWidth + 1 || box.left < -1);
    if (isCut || isOutside) findings.push(`${isCut ? "cut" : "outside"}: ${label.outerHTML.slice(0, 160)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) findings.push("overflow");
  return findings;
}"""
"""The visible labels whose text is wider than they are, or that reach over the edge of the window. Texts of users may be cut."""


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running_console(browser, tmp_path_factory.mktemp("languages")) as console:
        console.service.flask("user", "promote", "owner@demo.example.org")
        yield console


@pytest.mark.server
@pytest.mark.slow
def test_no_label_is_cut_on_a_phone(console: Console) -> None:
    project = console.sign_in()
    organization, api = console.organization(), console.page.request
    changes = f"{project}/changes/{new_set(console, project.rpartition('/')[2])}"
    paths = page_paths(console, project_id=project.rpartition("/")[2], org_id=organization.rpartition("/")[2])
    paths += [changes, f"{changes}/pages/{FILE}", f"{changes}/schedule", f"{project}/edit/{FILE}?panel=fields"]
    findings: dict[tuple[str, str], list[str]] = {}
    console.resize(VIEWS[1][0], "light")
    headers, base = {"Origin": console.service.base}, f"{console.service.base}/api/v1"
    user = api.get(f"{base}/auth/get-session").json()["user"]["id"]
    for language in LANGUAGES if os.environ.get("GALLEY_LONG") else LONGEST:
        assert api.patch(f"{base}/user-preference/{user}", data={"language": language}, headers=headers).ok
        for path in paths:
            response = console.page.goto(console.service.base + path)
            if response is not None and response.headers["content-type"].startswith("text/html"):
                assert console.page.evaluate("document.documentElement.lang") == language, path
                found = console.page.evaluate(CUT_LABELS)
                findings |= {(language, path): found} if found else {}
    assert findings == {}, findings
