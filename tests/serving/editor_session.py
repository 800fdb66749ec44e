"""The session of an editor: from the sign-in over a new and a changed entry to the history, media, search and the preview.

The steps are equal for all persons. `Person` uses the pointer or the keyboard, and the size, theme and language of its browser.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, unquote

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator, expect

from app.content.page_text import read_page
from tests.serving.console_steps import save
from tests.serving.person import Person
from tests.support.samples.gitrepo import GitRepo

WITHIN_S = 60
DAY, MINUTE = "2026-05-27", "10:30"
TAGS = ("harbour", "early morning")
PARAGRAPHS = ("The first boat leaves at six.", "Bring bread and tea.")
DATES = ("date", "pubDate", "publishDate", "lastUpdated", "lastmod")
ADDED, REVISED = "Checked today. ", " Revised"

PLAIN = "[A-ZÀ-Ž][A-Za-zÀ-ž0-9 ,.-]"
FIELD = re.compile(
    rf"""^(?P<line>(?P<name>description|excerpt|summary|title): +(?P<quote>["']?)(?P<value>{PLAIN}{{3,}}[A-Za-z0-9.])(?P=quote))$""",
    re.MULTILINE,
)
TITLE = re.compile(rf"""^title: +(?P<quote>["']?)(?P<title>{PLAIN}{{6,80}}[A-Za-z0-9])(?P=quote)$""", re.MULTILINE)
PARAGRAPH = re.compile(rf"(?<=\n\n)({PLAIN}{{30,}})(?=\n\n)")
HEAD = re.compile(r"---\n(?:.*\n){1,60}?---\n")


@dataclass(frozen=True)
class EditedEntry:
    """An entry with a title, a text field that is changed, and a paragraph of plain words."""

    path: str
    title: str
    name: str
    value: str
    line: str
    paragraph: str


def edited_entries(repo: GitRepo, folder: str) -> Iterator[EditedEntry]:
    """Yield the entries below a folder that have a plain title and a plain paragraph."""
    for path in repo.text("ls-tree", "-r", "-z", "--name-only", "main", "--", folder).split("\0"):
        if not re.search(r"/[^_/][^/]*\.(md|mdx|markdown)$", path):
            continue
        text = repo.show(path).decode(errors="replace")
        head = HEAD.match(text)
        if head is None or "```" in text.partition("\n\n")[0]:
            continue
        title, fields = TITLE.search(head[0]), {match["name"]: match for match in FIELD.finditer(head[0])}
        body = text[head.end() - 1 :].partition("\n```")[0] + "\n\n"
        paragraphs = [match for match in PARAGRAPH.findall(body) if text.count(match) == 1]
        if title and paragraphs and fields:
            field = min(fields.values(), key=lambda match: match["name"])
            yield EditedEntry(path, title["title"], field["name"], field["value"], field["line"], paragraphs[0])


class EditorSession:
    """The work of an editor on one entry and on a new one. `times` contains the seconds of each step."""

    def __init__(
        self, person: Person, password: str, project: str, repo: GitRepo, entry: EditedEntry, title: str
    ) -> None:
        self.person, self.page, self.project, self.repo = person, person.page, project, repo
        self.password, self.entry, self.title = password, entry, title
        self.label = self.list_url = self.new_path = ""
        self.head = repo.head()
        self.times: dict[str, float] = {}
        self.features: set[str] = set()

    def run(self) -> None:
        """Carry out all steps, and check the layout after each of them."""
        steps: tuple[Callable[[], None], ...] = (
            *(self.sign_in, self.open_collection, self.filter_list, self.create_entry, self.write_text),
            *(self.set_fields, self.save_entry, self.open_list_with_entry, self.open_entry, self.change_entry),
            *(self.read_history, self.restore_version, self.open_media, self.search_entry, self.open_preview),
        )
        for step in steps:
            started = time.monotonic()
            step()
            self.times[step.__name__] = round(time.monotonic() - started, 1)
            self.check_layout(step.__name__)
        self.start_preview()
        assert self.person.faults == []

    def check_layout(self, step: str) -> None:
        """Check the theme, the direction, and that the page needs no horizontal scrolling."""
        state = self.page.evaluate(
            """() => [document.documentElement.scrollWidth - innerWidth, document.dir,
              getComputedStyle(document.documentElement).backgroundColor.match(/[\\d.]+/g).slice(0, 3).map(Number)]"""
        )
        assert state[0] <= 0, f"{step}: {self.page.url} is {state[0]} pixels too wide"
        assert state[1] == ("rtl" if self.person.language == "ar" else "ltr")
        assert (sum(state[2]) < 300) == (self.person.theme == "dark"), f"{step}: {state[2]}"

    def new_commits(self) -> list[str]:
        """Return the changed files since the last call."""
        before, self.head = self.head, self.repo.head()
        return self.repo.text("diff", "--name-only", "-z", before, self.head).split("\0")[:-1]

    def changed_lines(self) -> list[str]:
        """Return the changed lines of all files since the last call."""
        before, self.head = self.head, self.repo.head()
        lines = self.repo.text("diff", "-U0", before, self.head).splitlines()
        return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]

    # The steps

    def sign_in(self) -> None:
        """Sign in as the editor of the demo."""
        self.person.open("/console/sign-in")
        self.person.fill("E-mail", "editor@demo.example.org")
        self.person.fill("Password", self.password)
        self.person.press("Sign in")
        self.page.wait_for_url("**/console")

    def open_collection(self) -> None:
        """Open the project, the collection of the entry, and its language."""
        self.person.use(self.page.locator(f"main a[href='{self.project}']").first)
        self.page.wait_for_url(f"**{self.project}")
        self.label, self.list_url = self.collection_of(self.entry.path)
        self.person.follow(self.label)
        self.page.wait_for_url("**/collections/**")
        language = re.search(r"locale=([\w-]+)", self.list_url)
        if language:
            self.features.add("languages")
            self.person.use(self.page.locator("details.languages > summary"))
            self.person.use(self.page.locator(f"details.languages a[lang='{language[1]}']"))
            self.page.wait_for_url(f"**locale={language[1]}**")

    def collection_of(self, path: str) -> tuple[str, str]:
        """Return the label and the URL of the list of an entry."""
        html = self.page.request.get(f"{self.person.base}{self.project}/edit/{quote(path)}").text()
        link = re.search(rf'href="({re.escape(self.project)}/collections/[^"]*)"><bdi>([^<]*)', html)
        assert link is not None, f"{path} belongs to no collection"
        return link[2], link[1].replace("&amp;", "&")

    @property
    def rows(self) -> Locator:
        return self.page.locator("#rows > tr")

    def filter_list(self) -> None:
        """Filter by the title, then by the draft state, and show all entries again."""
        before = self.rows.count()
        self.filter_by_title(self.entry.title)
        expect(self.rows.filter(has_text=self.entry.title).first).to_be_visible()
        expect(self.rows.filter(has_not_text=self.entry.title)).to_have_count(0)
        assert self.rows.count() < before
        self.filter_by_title("")
        expect(self.rows).to_have_count(before)
        if self.page.get_by_label(self.person.say("State"), exact=True).count():
            self.features.add("drafts")
            for option, state in (("Drafts", "draft"), ("All", "all")):
                self.person.choose("State", option)
                self.apply_filter()
                self.page.wait_for_url(f"**state={state}**")

    def filter_by_title(self, text: str) -> None:
        self.person.fill("Filter", text)
        self.apply_filter()

    def apply_filter(self) -> None:
        if not self.person.has_scripts:
            self.person.press("Apply")

    def create_entry(self) -> None:
        """Open the dialog of a new entry, or its page without scripts."""
        self.person.press_link("New entry")
        form = self.page.locator("form[data-new-form]")
        self.person.fill_in(form.locator("[name=title]"), self.title)
        self.person.press("Create", within=form)
        self.page.wait_for_url("**/edit/**")
        self.new_path = unquote(self.page.url.partition("/edit/")[2].partition("?")[0])
        assert self.new_commits() == []

    def write_text(self) -> None:
        """Type two paragraphs."""
        expect(self.page.locator("[name='fm.title']")).to_have_value(self.title)
        if not self.person.has_scripts:
            self.person.fill_in(self.page.locator("textarea[name=body]"), "\n\n".join(PARAGRAPHS) + "\n")
            return
        self.person.focus(self.page.locator(".ProseMirror"))
        self.page.keyboard.type(PARAGRAPHS[0])
        self.page.keyboard.press("Enter")
        self.page.keyboard.type(PARAGRAPHS[1])

    def show_fields(self) -> None:
        """Show the fields. They are a tab of a narrow page."""
        tab = self.page.locator("[data-panel-toggle=fields]")
        if self.person.has_scripts and not self.page.locator("[data-panel-part=fields]").is_visible():
            self.person.use(tab)

    def set_fields(self) -> None:
        """Set the date and the tags, if entries of the collection have them."""
        self.show_fields()
        for name in DATES:
            field = self.page.locator(f"input[type^=date][name='fm.{name}']")
            if field.count():
                self.features.add("date")
                has_time = field.get_attribute("type") != "date"
                self.person.set_date(field, f"{DAY}T{MINUTE}" if has_time else DAY)
                break
        tags = self.page.locator("textarea[name='fm.tags']")
        if tags.count():
            self.features.add("tags")
            if not self.person.has_scripts:
                self.person.fill_in(tags, "\n".join(TAGS))
                return
            chips = self.page.locator(".field:has([name='fm.tags']) .chip-list__input")
            for tag in TAGS:
                self.person.fill_in(chips, tag)
                self.page.keyboard.press("Enter")

    def save_entry(self) -> None:
        """Save, and read the only new file."""
        self.save()
        assert self.new_commits() == [self.new_path]
        page = read_page(self.new_path, self.repo.show(self.new_path))
        assert page is not None
        values = dict(page.values or {})
        assert values.pop("title") == self.title
        if "tags" in self.features:
            assert values.pop("tags") == list(TAGS)
        if "date" in self.features:
            assert any(str(value).startswith(DAY) for value in values.values()), values
        assert page.body.strip() == "\n\n".join(PARAGRAPHS)

    def save(self) -> None:
        """Save and wait for the commit and the message."""
        save(self.person)
        deadline = time.monotonic() + WITHIN_S
        while self.repo.head() == self.head:
            assert time.monotonic() < deadline, "nothing was saved"
            self.page.wait_for_timeout(50)

    def open_list_with_entry(self) -> None:
        """Open the list from the entry. The entry is in it when a job has read it."""
        self.person.use(self.page.locator(".breadcrumb a").first)
        self.page.wait_for_url("**/collections/**")
        entry = self.rows.filter(has_text=self.title)
        self.person.open_until(
            f"{self.list_url}{'&' if '?' in self.list_url else '?'}q={quote(self.title)}&state=all",
            lambda: entry.count() > 0,
        )

    def open_entry(self) -> None:
        """Open an older entry from the list."""
        self.filter_by_title(self.entry.title)
        row = self.rows.filter(has_text=self.entry.title).filter(
            has=self.page.locator(f"a[href$='{quote(self.entry.path)}']")
        )
        self.person.use(row.get_by_role("link").first)
        self.page.wait_for_url(f"**/edit/{quote(self.entry.path)}**")

    def change_entry(self) -> None:
        """Change a field and a paragraph. The commit contains these two lines."""
        page, entry = self.page, self.entry
        if self.person.has_scripts:
            self.person.focus_start(page.locator(".ProseMirror > p", has_text=entry.paragraph).first)
            page.keyboard.type(ADDED)
        else:
            body = page.locator("textarea[name=body]")
            self.person.fill_in(body, body.input_value().replace(entry.paragraph, ADDED + entry.paragraph))
        if entry.name != "title":
            self.show_fields()
        self.person.fill_in(page.locator(f"[name='fm.{entry.name}']"), entry.value + REVISED)
        self.save()
        assert self.changed_lines() == [
            *(f"-{entry.line}", f"+{entry.line.replace(entry.value, entry.value + REVISED)}"),
            *(f"-{entry.paragraph}", f"+{ADDED}{entry.paragraph}"),
        ]

    def read_history(self) -> None:
        """Read the versions in the panel, then all versions, then the last change."""
        self.person.use(self.page.locator("[data-panel-toggle=history]"))
        panel = self.page.locator("[data-panel-part=history]")
        expect(panel.locator("li").nth(1)).to_be_visible()
        self.person.use(panel.get_by_role("link", name=self.person.say("All versions")))
        self.page.wait_for_url("**/history/**")
        self.person.use(self.page.locator("#rows .table__main a").first)
        self.page.wait_for_url("**head=**")
        expect(self.page.get_by_text(ADDED.strip()).first).to_be_visible()

    def restore_version(self) -> None:
        """Restore the version before the change."""
        before = self.page.get_by_role("listitem").filter(has_text=f"{self.person.say('Before')}:")
        self.person.press("Restore this version", within=before)
        self.page.wait_for_url("**done=restored**")
        entry = self.entry
        assert self.changed_lines() == [
            *(f"-{entry.line.replace(entry.value, entry.value + REVISED)}", f"+{entry.line}"),
            *(f"-{ADDED}{entry.paragraph}", f"+{entry.paragraph}"),
        ]

    def open_media(self) -> None:
        """Filter the images, open one, and read which pages show it."""
        self.person.follow("Media")
        cards = self.page.locator(".media-card")
        if not cards.count():
            return
        self.features.add("images")
        name = cards.first.locator(".card__title").inner_text()
        self.filter_by_title(name)
        self.page.wait_for_url("**q=**")
        expect(cards.first).to_contain_text(name)
        self.person.use(cards.first.get_by_role("link").first)
        expect(self.page.get_by_role("heading", name=self.person.say("Used in"))).to_be_visible()

    def search_entry(self) -> None:
        """Open an entry by a part of its text: in the palette, or with the form of the navigation."""
        page, title = self.page, self.entry.title
        if self.person.has_scripts:
            page.wait_for_load_state()
            page.keyboard.press("Control+k")
            self.person.fill_in(page.get_by_role("combobox"), title)
            option = page.get_by_role("option").filter(has_text=title)
            expect(option.first).to_be_visible()
            if self.person.has_pointer:
                option.first.click()
            else:
                while option.first.get_attribute("aria-selected") != "true":
                    page.keyboard.press("ArrowDown")
                page.keyboard.press("Enter")
        else:
            self.person.fill_in(page.locator("#sidebar-search"), title)
            page.keyboard.press("Enter")
            page.wait_for_url("**/search?**")
            self.person.use(page.get_by_role("main").get_by_role("link", name=title).first)
        page.wait_for_url(f"**/edit/{quote(self.entry.path)}**")

    def open_preview(self) -> None:
        """Open the page of the preview, which is not started yet."""
        self.person.follow("Preview")
        expect(self.page.get_by_role("button", name=self.person.say("Stop"), exact=True)).to_be_hidden()

    def start_preview(self) -> None:
        """Start the preview, see a step of the start or its result, and stop it. A generator may be missing."""
        start = self.page.get_by_role("button", name=self.person.say("Start the preview"), exact=True)
        stop = self.page.get_by_role("button", name=self.person.say("Stop"), exact=True)
        self.person.use(start)
        states = ".steps > li[aria-current], .steps > li[data-state=failed], .preview-frame"
        expect(self.page.locator(states).first).to_be_visible()
        deadline = time.monotonic() + WITHIN_S
        while not start.is_visible():
            assert time.monotonic() < deadline
            # A failed start loads the page again.
            with suppress(PlaywrightError):
                if stop.is_visible():
                    with self.page.expect_navigation():
                        self.person.use(stop)
            self.page.wait_for_timeout(200)
