"""A person at the console: a browser that is used with the pointer, or with the keyboard alone, in one of the languages."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, FilePayload, Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from app.console.shell.translation import translations

TAB_STOPS = 150
"""The focus reaches everything on a page with fewer steps."""

FOCUS = """each => document.activeElement === each
  && (each.matches("[contenteditable], .visually-hidden") || getComputedStyle(each).outlineStyle !== "none")"""
"""JavaScript: the element has the focus, and the focus is visible."""

IN_TOOLBAR = "each => each.closest(`[role=toolbar]`)?.contains(document.activeElement) ?? false"
IS_BEFORE_FOCUS = """each => document.activeElement !== document.body
  && (document.activeElement.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_PRECEDING) > 0"""
HAS_CURSOR = "each => each.contains(getSelection().anchorNode)"
LINES = 80
TYPED_TOGETHER_MS = 1100
"""Chromium searches the options for the characters that are typed within a second."""

WITHIN_S = 60.0
CHOOSER_ATTEMPTS = 3


class Person:
    """One browser context. `faults` contains script errors, refused resources and requests to other origins."""

    def __init__(
        self,
        browser: Browser,
        base: str,
        *,
        language: str = "en",
        width: int = 1280,
        theme: Literal["light", "dark"] = "light",
        has_scripts: bool = True,
        has_pointer: bool = True,
    ) -> None:
        self.base, self.language, self.has_scripts, self.has_pointer = base, language, has_scripts, has_pointer
        self.theme = theme
        self.faults: list[str] = []
        self.context = browser.new_context(
            locale=language,
            timezone_id="UTC",
            viewport={"width": width, "height": 844},
            java_script_enabled=has_scripts,
            color_scheme=theme,
            reduced_motion="reduce",
        )
        self.context.set_default_timeout(WITHIN_S * 1000)
        self.page: Page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("request", lambda request: self._check(request.url))
        # A listener intercepts the file dialogs of the whole visit. Without it the first key press may come before.
        self.page.on("filechooser", lambda _chooser: None)

    def _note(self, kind: str, text: str) -> None:
        if kind == "error" and "status of 4" not in text:
            self.faults.append(f"console: {text}")

    def _check(self, url: str) -> None:
        is_preview = (urlsplit(url).hostname or "").endswith(".localhost")
        if not url.startswith((self.base, "data:", "blob:")) and not is_preview:
            self.faults.append(f"request: {url}")

    def say(self, text: str, **values: str) -> str:
        """Return a text in the language of the person."""
        return (
            translations(self.language).gettext(text) % values if values else translations(self.language).gettext(text)
        )

    def open(self, url: str) -> None:
        """Type an address."""
        self.page.goto(url if url.startswith("http") else self.base + url)

    def open_until(self, url: str, shows: Callable[[], bool]) -> None:
        """Load a page again until a background job has changed it."""
        deadline = time.monotonic() + WITHIN_S
        self.open(url)
        while not shows():
            assert time.monotonic() < deadline, f"{url} does not change:\n{self.page.locator('main').inner_text()}"
            self.page.wait_for_timeout(200)
            self.open(url)

    def press(self, name: str, within: Locator | None = None) -> None:
        """Press the first button of this name."""
        self.use((within or self.page).get_by_role("button", name=self.say(name), exact=True).first)

    def follow(self, name: str) -> None:
        """Follow the first visible link of this name to its page. A drawer or a menu may contain it."""
        link = self.page.get_by_role("link", name=self.say(name), exact=True).first
        drawer, hidden = self.page.locator(".drawer-toggle:visible"), self.page.locator("details.menu:not([open])")
        if not link.count() and drawer.count():
            self.use(drawer)
        if not link.count():
            entry = self.page.get_by_role("link", name=self.say(name), exact=True, include_hidden=True)
            self.use(hidden.filter(has=entry).locator("summary").first)
        address = self.page.url
        self.use(link)
        self.page.wait_for_url(lambda url: url != address)

    def press_link(self, name: str) -> None:
        """Use a link that opens a dialog, or its page without scripts."""
        self.use(self.page.get_by_role("link", name=self.say(name), exact=True).first)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of a list. The keyboard selects it by its text."""
        field = self.page.get_by_label(self.say(label), exact=True).first
        if self.has_pointer:
            field.select_option(label=self.say(option))
            return
        self.reach(field)
        self.page.wait_for_timeout(TYPED_TOGETHER_MS)
        self.page.keyboard.type(self.say(option))

    def set_date(self, field: Locator, value: str) -> None:
        """Set a date, or a date with a time. The keyboard types the parts in the order of American English."""
        if self.has_pointer:
            field.fill(value)
            return
        day, _, minute = value.partition("T")
        self.reach(field)
        self.page.keyboard.type(day[5:7] + day[8:] + day[:4])
        if minute:
            self.page.keyboard.press("ArrowRight")
            self.page.keyboard.type(f"{minute[:2]}{minute[3:]}AM")

    def use_entry(self, title: str) -> None:
        """Open an entry of a list, whose name is no text of the console."""
        self.use(self.page.get_by_role("link", name=title).first)

    def fill(self, label: str, value: str) -> None:
        """Replace the value of a field."""
        self.fill_in(self.page.get_by_label(self.say(label), exact=True).first, value)

    def fill_in(self, field: Locator, value: str) -> None:
        """Replace the value of a field."""
        if self.has_pointer:
            field.fill(value)
            return
        self.reach(field)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(value)

    def choose_file(self, label: str, file: Path | FilePayload) -> None:
        """Choose the file of a field."""
        field = self.page.get_by_label(self.say(label), exact=True)
        if self.has_pointer:
            field.set_input_files(file)
            return
        for _ in range(CHOOSER_ATTEMPTS):
            self.reach(field)
            with suppress(PlaywrightTimeoutError):
                with self.page.expect_file_chooser(timeout=WITHIN_S * 1000 / CHOOSER_ATTEMPTS) as chooser:
                    self.page.keyboard.press("Space")
                chooser.value.set_files(file)
                return
        raise AssertionError(f"the space bar does not open the file dialog of {label}")

    def use(self, target: Locator) -> None:
        """Press a button or follow a link."""
        if self.has_pointer:
            target.click()
            return
        self.reach(target)
        self.page.keyboard.press("Enter")

    def focus(self, target: Locator) -> None:
        """Move the focus to an element."""
        if self.has_pointer:
            target.click()
        else:
            self.reach(target)

    def focus_start(self, paragraph: Locator) -> None:
        """Move the cursor to the start of a paragraph of the formatted text."""
        if self.has_pointer:
            paragraph.click(position={"x": 2, "y": 8})
        else:
            self.reach(self.page.locator(".ProseMirror"))
            self.page.keyboard.press("Control+Home")
            for _ in range(LINES):
                if paragraph.evaluate(HAS_CURSOR):
                    break
                self.page.keyboard.press("ArrowDown")
            assert paragraph.evaluate(HAS_CURSOR)
        self.page.keyboard.press("Home")

    def reach(self, target: Locator) -> None:
        """Move the focus to an element with the Tab key, in a toolbar with the arrow keys, and check its outline."""
        target.wait_for(state="attached")
        for _ in range(TAB_STOPS):
            if target.evaluate(FOCUS):
                return
            back, forward = ("ArrowLeft", "ArrowRight") if target.evaluate(IN_TOOLBAR) else ("Shift+Tab", "Tab")
            self.page.keyboard.press(back if target.evaluate(IS_BEFORE_FOCUS) else forward)
        raise AssertionError(f"the Tab key does not reach {target}")
