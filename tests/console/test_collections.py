"""Lists of entries and the navigation, with plain forms."""

import html
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest

from app.core import clock
from app.core.limits import CommitLimits
from app.extensions import db
from app.models.user import UserPreference
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit
from tests.resources.change_set.test_late_records import broken
from tests.support.samples.gitrepo import Content

NEXT_YEAR = f"{clock.now() + timedelta(days=400):%Y-%m-%d}"
SCHEMA = b"""exclude: [generated]
collections:
  - name: news
    label: News
    folder: content/news
    fields:
      - {name: title, type: string}
      - {name: date, type: datetime}
      - {name: draft, type: boolean}
      - {name: summary, type: text}
      - {name: image, type: image}
      - {name: author, type: string}
      - {name: kind, type: select, options: [note, essay]}
  - name: team
    folder: content/team
    fields: [{name: title, type: string}, {name: authors, type: list}, {name: expiryDate, type: date}]
  - {name: notes, label: News, folder: content/notes, fields: [{name: title, type: string}]}
  - {name: menu, label: Menu, folder: settings, pattern: menu.yaml, fields: []}
"""


def entry(title: str, date: str, **fields: str) -> bytes:
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f'---\ntitle: "{title}"\ndate: {date}\n{lines}---\nText\n'.encode()


FILES: dict[str, Content] = {
    ".galley.yml": SCHEMA,
    "content/news/a.md": entry(
        "Older", "2024-03-01T23:30:00Z", kind="note", author='"[Nell](https://nell.example.org) (editor)"'
    ),
    "content/news/b.md": entry("Newest", "2025-05-02", kind="essay", image="/pier.png", summary="Of the pier"),
    "content/news/c.md": entry("Draft one", "2025-01-01", draft="true", author="Omar"),
    "content/news/d.md": entry("Planned", NEXT_YEAR, kind="note"),
    "content/news/e.md": b"# Without a date\n",
    "content/news/b.de.md": entry("Das Neueste", "2025-05-02"),
    "content/notes/n.md": b"---\ntitle: Note\n---\n",
    "content/team/a.md": b"---\ntitle: A\nauthors: [Yva, Xi]\n---\n",
    "content/team/b.md": b"---\ntitle: B\nauthors: [Xi, Yva]\nexpiryDate: 2030-01-01\n---\n",
    "content/team/c.md": b"---\ntitle: C\nauthors: [Yva]\n---\n",
    "content/team/d.md": b"---\ntitle: D\n---\n",
    "data/team.json": b"[]",
    "settings/menu.yaml": b"a: 1\n",
    "generated/x.md": b"---\ntitle: X\n---\n",
    ".github/w.md": b"# W\n",
    "static/pier.png": b"\x89PNG\r\n\x1a\n",
}


@pytest.fixture
def news(console: ConsoleScene) -> ConsoleScene:
    """Replace the files of the project by those of a site with a schema."""
    site = console.site
    site.repo.commit(dict.fromkeys(site.repo.entries()) | FILES)
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    return console


def url_of(console: ConsoleScene, path: str = "/collections/news") -> str:
    return f"/console/projects/{console.ids['project_id']}{path}"


def open_list(console: ConsoleScene, query: str = "", name: str = "news") -> Any:
    return console.site.owner.client.get(f"{url_of(console, f'/collections/{name}')}?{query}")


def titles(console: ConsoleScene, query: str) -> list[str]:
    return re.findall(
        r'href="[^"]*/edit/[^"]*"[^>]*>(?:<img[^>]*>)?(?:<span[^>]*>)?<bdi>([^<]*)<', open_list(console, query).text
    )


def rows(page: str) -> list[tuple[str, str]]:
    """Return the path and the cells of each line of a list."""
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)
    paths = [re.search(r'/edit/([^"?]*)"', line) for line in lines]
    return [(path[1], line) for path, line in zip(paths, lines, strict=True) if path is not None]


def test_navigation_lists_collections_with_counts_and_unique_labels(news: ConsoleScene) -> None:
    shown = news.site.owner.client.get(url_of(news, "")).text
    nav = re.findall(
        r'href="([^"]*)"[^>]*>(?:<svg.*?</svg>)?<span>([^<]*)</span></a><span class="sidebar__count">(\d+)', shown
    )
    assert [(url.removeprefix(url_of(news, "")), text, count) for url, text, count in nav] == [
        ("/collections/news", "Content / News", "5"),
        ("/collections/team", "Team", "4"),
        ("/collections/notes", "Notes / News", "1"),
        ("/data", "Data", "1"),
        ("/media", "Media", "1"),
    ]
    assert news.site.owner.client.get(url_of(news, "/collections")).location == url_of(news)
    data = news.site.owner.client.get(url_of(news, "/data")).text
    assert re.findall(r'/edit/([^"]*)"><bdi>([^<]*)', data) == [("data/team.json", "Team")]
    assert re.search(r'/edit/settings/menu.yaml"[^>]*>(?:<svg.*?</svg>)?<span>Menu</span>', shown)


def test_counts_follow_a_save_and_a_deletion_before_their_texts_are_read(news: ConsoleScene) -> None:
    def counts() -> list[str]:
        return re.findall(r'sidebar__count">(\d+)', news.site.owner.client.get(url_of(news, "")).text)

    assert counts() == ["5", "4", "1", "1", "1"]
    news.site.commit({"path": "content/news/f.md", "action": "create", "content": "# New\n"}).ok(201)
    assert counts() == ["6", "4", "1", "1", "1"]
    news.site.commit({"path": "content/notes/n.md", "action": "delete"}).ok(201)
    news.site.commit({"path": "content/news/a.md", "action": "delete"}).ok(201)
    assert counts()[0] == "5"


def test_all_files_omit_hidden_folders_until_they_are_shown(news: ConsoleScene) -> None:
    client = news.site.owner.client
    folders = lambda page: re.findall(r'/content/([^"?#/]+)">', page.text)  # noqa: E731
    page = client.get(url_of(news, "/content/"))
    assert set(folders(page)) == {"content", "data", "settings", "static"}
    [link] = re.findall(r'href="(\?[^"]*hidden=show)"', page.text)
    assert {".github", "generated"} <= set(folders(client.get(url_of(news, "/content/") + link)))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Planned", "Newest", "Draft one", "Older", "Without a date"]),
        ("sort=date", ["Older", "Draft one", "Newest", "Planned", "Without a date"]),
        ("sort=title", ["Draft one", "Newest", "Older", "Planned", "Without a date"]),
        ("sort=path&view=grid", ["Older", "Newest", "Draft one", "Planned", "Without a date"]),
        ("state=draft", ["Draft one"]),
        ("state=scheduled", ["Planned"]),
        ("q=OUT+A", ["Without a date"]),
        ("filter[kind]=note&filter[draft]=", ["Planned", "Older"]),
        ("locale=de", ["Das Neueste"]),
        ("group=kind", ["Newest", "Older", "Planned", "Draft one", "Without a date"]),
        ("q=none", []),
    ],
)
def test_entries_are_sorted_and_filtered(news: ConsoleScene, query: str, expected: list[str]) -> None:
    assert titles(news, query) == expected


def test_line_shows_summary_image_date_state_and_author(news: ConsoleScene) -> None:
    with news.app.app_context():
        row = db.session.get(UserPreference, news.site.owner.id) or UserPreference(user_id=news.site.owner.id)
        row.timezone, row.language = "Asia/Tokyo", "de"
        db.session.add(row)
        db.session.commit()
    lines = rows(open_list(news).text)
    shown = {path: re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", line)).strip() for path, line in lines}
    assert shown["content/news/a.md"] == "Older 2. März 2024 Nell (editor)"
    assert shown["content/news/b.md"] == "Newest Of the pier 2. Mai 2025"
    assert shown["content/news/c.md"] == "Draft one 1. Jan. 2025 Entwurf Omar"
    assert shown["content/news/d.md"].endswith("geplant")
    html = dict(lines)
    assert 'title="2024-03-01T23:30:00Z"' in html["content/news/a.md"]
    assert re.search(r'/thumbnail/\w{40}\?width=96" alt=""', html["content/news/b.md"])


def test_list_has_columns_and_filters_for_the_values_of_its_entries(news: ConsoleScene) -> None:
    def shown(name: str = "news") -> tuple[list[str], list[str]]:
        text = open_list(news, name=name).text
        return re.findall(r'<th scope="col">([^<]*)', text), re.findall(r'<select[^>]* name="(filter[^"]*)"', text)

    assert shown() == (["Select", "Title", "Date", "State", "Author"], ["filter[kind]"])
    assert shown("team")[0] == ["Select", "Title", "Authors"]
    for path, kind in (("a", "essay"), ("d", "essay")):
        site = news.site
        site.commit({"path": f"content/news/{path}.md", "action": "update", "content": f"---\nkind: {kind}\n---\n"})
    news.site.world.work_off()
    assert shown()[1] == []


def test_groups_have_headings_that_following_pages_do_not_repeat(news: ConsoleScene) -> None:
    text = open_list(news, "group=year").text
    headings = re.findall(r'scope="rowgroup">([^<]*)<', text)
    assert headings == [NEXT_YEAR[:4], "2025", "2024", "Without a date"]
    assert "2025" not in re.findall(
        r'scope="rowgroup">([^<]*)<', open_list(news, "group=year&state=draft&after=2025").text
    )


def test_entry_with_several_authors_is_in_the_group_of_the_first(news: ConsoleScene) -> None:
    text = open_list(news, "group=authors", name="team").text
    assert re.findall(r'scope="rowgroup">([^<]*)<', text) == ["Xi", "Yva", "Without a value"]
    assert [path for path, _line in rows(text)] == [
        "content/team/b.md",
        "content/team/a.md",
        "content/team/c.md",
        "content/team/d.md",
    ]
    # The date at which an entry ends is not its date.
    text = open_list(news, "group=", name="team").text
    assert "Newest first" not in text
    assert [path for path, _line in rows(text)] == [
        "content/team/a.md",
        "content/team/b.md",
        "content/team/c.md",
        "content/team/d.md",
    ]


def test_view_is_remembered_for_each_collection(news: ConsoleScene) -> None:
    open_list(news, "sort=title&view=grid&locale=")
    assert "entry-grid" in open_list(news).text
    assert titles(news, "")[0] == "Draft one"
    assert "entry-grid" not in open_list(news, name="notes").text
    open_list(news, "sort=nothing&view=list&group=unknown")
    assert titles(news, "")[0] == "Planned"


def test_filter_is_remembered_until_the_form_clears_it(news: ConsoleScene) -> None:
    assert titles(news, "filter[kind]=note") == ["Planned", "Older"]
    assert titles(news, "sort=date") == ["Older", "Planned"]
    assert "done=saved" in change(news, "sort=date", all="1", action="draft").location
    assert b"draft" not in news.site.repo.show("content/news/b.md")
    assert len(titles(news, "sort=date&filter[kind]=")) == 5
    assert len(titles(news, "")) == 5
    news.site.owner.client.set_cookie("galley_list", "filter%5Bkind%5D=gone&sort=gone", path=url_of(news))
    assert len(titles(news, "")) == 5


def test_links_to_another_view_or_language_keep_the_filters_that_it_has(news: ConsoleScene) -> None:
    def links(query: str) -> list[set[tuple[str, str]]]:
        page = open_list(news, query).text
        found = re.findall(r'id="other-view" href="\?([^"]*)"', page) + re.findall(r'<a href="\?([^"]*)" lang="', page)
        return [set(parse_qsl(html.unescape(link))) for link in found]

    grid, *languages = links("filter[kind]=note&q=old&state=published&sort=title")
    kept = {("filter[kind]", "note"), ("q", "old"), ("state", "published"), ("sort", "title")}
    assert [kept <= link for link in (grid, *languages)] == [True] * 3
    assert ("view", "grid") in grid
    _, *languages = links("filter[kind]=gone&filter[gone]=note&filter[date][gte]=2024-01-01")
    names = [{name for name, _ in link if name.startswith("filter[")} for link in languages]
    assert names == [{"filter[date][gte]"}] * 2


def test_entries_without_a_date_are_last_in_both_orders(news: ConsoleScene) -> None:
    news.site.repo.commit({"content/news/f.md": entry("Undated", '""'), "content/news/g.md": entry("Later", "soon")})
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    undated = ["Without a date", "Undated", "Later"]
    assert titles(news, "") == ["Planned", "Newest", "Draft one", "Older", *undated]
    assert titles(news, "sort=date") == ["Older", "Draft one", "Newest", "Planned", *undated]


def test_entries_are_sorted_by_declared_fields(news: ConsoleScene) -> None:
    fields = b"      - {name: weight, type: number, label: Rank}\n      - {name: pinned, type: boolean}\n"
    more = b"      - {name: due, type: date}\n      - {name: code, type: string}\n      - {name: tags, type: list}\n"
    files = {
        "content/news/a.md": entry("Older", "2024-03-01", weight="10", pinned="true", due="2026-02-01", code="b"),
        "content/news/b.md": entry("Newest", "2025-05-02", weight="9", pinned="false", due="2026-03-01", code="a"),
        "content/news/c.md": entry("Draft one", "2025-01-01", weight="-1", due="2025-01-01", tags="[x]"),
    }
    news.site.repo.commit(
        {".galley.yml": SCHEMA.replace(b"  - name: team", fields + more + b"  - name: team"), **files}
    )
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    shown = re.search(r'<select class="input" id="sort".*?</select>', open_list(news).text, re.DOTALL)
    assert shown is not None
    options = re.findall(r'value="([^"]*)"[^>]*>([^<]*)<', shown[0])
    assert options[-4:] == [
        ("weight", "Rank"),
        ("pinned", "Pinned"),
        ("due", "Due"),
        ("code", "Code"),
    ]
    first = ["Draft one", "Newest", "Older"]
    assert titles(news, "sort=weight")[:3] == first
    assert titles(news, "sort=-weight")[:3] == first[::-1]
    assert titles(news, "sort=due")[:3] == ["Draft one", "Older", "Newest"]
    assert titles(news, "sort=code")[:2] == titles(news, "sort=pinned")[:2] == ["Newest", "Older"]
    assert titles(news, "sort=tags") == titles(news, "sort=")


def test_dates_in_a_declared_format_are_shown_and_sorted(news: ConsoleScene) -> None:
    schema = SCHEMA.replace(b"{name: date, type: datetime}", b"{name: date, type: date, date_format: dd.MM.yyyy}")
    dates = {"a": ("Second", "03.05.2024"), "b": ("First", "01.12.2024"), "c": ("Third", "04.01.2024")}
    files = {f"content/news/{name}.md": entry(*own) for name, own in dates.items()}
    news.site.repo.commit({".galley.yml": schema, "content/news/d.md": None, **files})
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    assert titles(news, "") == ["First", "Second", "Third", "Without a date"]
    assert 'datetime="2024-12-01T00:00:00" title="01.12.2024"' in open_list(news).text
    assert titles(news, "state=scheduled") == []


DATED: dict[str, Content] = {
    "_posts/2024-05-01-fog.md": b"---\ntitle: Fog\nedited: 2020-01-01\n---\n",
    "_posts/sea/2023-02-01-tide_and-wind.md": b"Text\n",
    "_posts/2022-01-01-pier.md": b"---\ntitle: Pier\ndate: 2022-01-01T10:00:00Z\n---\n",
    "_posts/welcome.md": b"---\ntitle: Welcome\n---\n",
    "guides/fog/index.md": b"---\nweight: 1\n---\nText\n",
}


def test_names_with_dates_order_and_group_entries_and_name_those_without_a_title(news: ConsoleScene) -> None:
    news.site.repo.commit(dict.fromkeys(news.site.repo.entries()) | DATED)
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    shown = open_list(news, "group=year", name="posts").text
    assert re.findall(r"<bdi>([^<]*)</bdi></a>", shown)[-4:] == ["Fog", "Tide and wind", "Pier", "Welcome"]
    assert re.findall(r'scope="rowgroup">([^<]*)<', shown) == ["2024", "2023", "2022", "Without a date"]
    grid = open_list(news, "view=grid", name="guides").text
    assert "<bdi>Fog</bdi>" in grid
    assert '/fog/index.md"' in grid


@pytest.mark.parametrize("query", ["view=tree", "cursor=x", "filter[a][like]=1", "sort=", "state=none"])
def test_invalid_view_is_refused(news: ConsoleScene, query: str) -> None:
    assert open_list(news, query).status_code == (200 if query == "sort=" else 400)


def change(console: ConsoleScene, query: str, **fields: str | list[str]) -> Any:
    sent: dict[str, Any] = form_of(open_list(console, query), 'id="bulk"')
    sent.pop("all", None)
    return submit(console.site.owner, f"{url_of(console)}?{query}", **sent | fields)


def test_selected_entries_are_changed_and_the_filter_remains(news: ConsoleScene) -> None:
    repo, paths = news.site.repo, ["content/news/a.md", "content/news/c.md"]
    done = change(news, "sort=date", select=paths, action="publish")
    assert done.location == f"{url_of(news)}?sort=date&done=saved&undo={repo.head()}"
    assert b"draft: false" in repo.show(paths[1])
    assert b"draft" not in repo.show(paths[0])
    moved = change(news, "sort=date", select=paths, action="move", target="content/news/old")
    assert "done=moved" in moved.location
    refused = change(news, "sort=date", select=["content/news/b.md"], action="move", target="../up")
    assert refused.status_code == 400
    assert 'id="target-error"' in refused.text
    assert change(news, "", action="delete").status_code == 400


def test_all_entries_of_a_filter_are_selected(news: ConsoleScene) -> None:
    before = set(news.site.repo.entries())
    assert "done=deleted" in change(news, "filter[kind]=note", all="1", action="delete").location
    assert before - set(news.site.repo.entries()) == {"content/news/a.md", "content/news/d.md"}


def test_more_entries_than_a_commit_may_contain_are_changed_in_several(news: ConsoleScene) -> None:
    repo, count = news.site.repo, CommitLimits.files + 20
    repo.commit({f"content/notes/{n:03}.md": b"---\ntitle: Note\ndraft: true\n---\n" for n in range(count)})
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    url, before = url_of(news, "/collections/notes"), repo.head()
    sent = form_of(open_list(news, name="notes"), 'id="bulk"') | {"all": "1"}
    done = submit(news.site.owner, url, **sent | {"action": "publish"})
    assert done.location == f"{url}?done=saved"
    assert repo.text("rev-list", "--count", f"{before}..main") == "2"
    assert {b"draft: true" in repo.show(f"content/notes/{n:03}.md") for n in (0, 299, 300, count - 1)} == {False}
    # The second commit fails: another person has changed a file since the list was opened.
    repo.commit({f"content/notes/{count - 1:03}.md": b"Changed\n"})
    failed = submit(
        news.site.owner, url, **sent | {"base_sha": repo.git("rev-parse", "main^").decode().strip(), "action": "delete"}
    )
    assert failed.status_code == 409
    assert f"300 of {count + 1} files are done" in failed.text
    assert f"content/notes/{count - 1:03}.md" in failed.text
    assert f"content/notes/{count - 1:03}.md" in repo.entries()
    assert "content/notes/000.md" not in repo.entries()


@pytest.mark.one_database
def test_failure_of_the_database_after_a_commit_names_the_changed_files(news: ConsoleScene) -> None:
    count = CommitLimits.files + 1
    news.site.repo.commit({f"content/notes/{n:03}.md": b"---\ntitle: Note\ndraft: true\n---\n" for n in range(count)})
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    sent = form_of(open_list(news, name="notes"), 'id="bulk"') | {"all": "1", "action": "publish"}
    logged = f"SELECT 1 FROM project_log_entries WHERE project_id = '{news.site.project}' AND source = 'commit'"
    is_second = f"EXISTS ({logged}) AND NEW.name = 'content.index'"
    with broken(news.site.world.app, "background_jobs", when=is_second):
        failed = submit(news.site.owner, url_of(news, "/collections/notes"), **sent)
    assert failed.status_code == 409
    assert f"{CommitLimits.files} of {count + 1} files are done" in failed.text
    assert b"draft: true" not in news.site.repo.show("content/notes/000.md")
    assert b"draft: true" in news.site.repo.show(f"content/notes/{count - 1:03}.md")


def test_page_leads_to_its_translations(news: ConsoleScene) -> None:
    client = news.site.owner.client
    page = client.get(url_of(news, "/edit/content/news/b.md")).text
    assert f'href="{url_of(news, "/edit/content/news/b.de.md")}" lang="de">German</a>' in page
    older = client.get(url_of(news, "/edit/content/news/a.md"))
    assert '<button name="language" value="de"><span>German</span>' in older.text
    assert "languages--page" not in client.get(url_of(news, "/edit/content/notes/n.md")).text


def test_panel_shows_the_page_in_another_language(news: ConsoleScene) -> None:
    client = news.site.owner.client
    url = url_of(news, "/edit/content/news/b.md")
    [tab] = re.findall(r'data-panel-toggle="translation"[^>]*>([^<]*)<', client.get(url).text)
    assert tab == "German"
    panel = client.get(f"{url}?panel=translation").text.partition('data-panel-part="translation">')[2]
    assert '<div lang="de"><article class="simple-page">' in panel
    assert '<h1 class="simple-page__title" dir="auto">Das Neueste</h1>' in panel
    assert url_of(news, "/edit/content/news/b.de.md") in panel
    german = client.get(url_of(news, "/edit/content/news/b.de.md?panel=translation&language=fr")).text
    assert '<h1 class="simple-page__title" dir="auto">Newest</h1>' in german
    assert 'data-panel-toggle="translation"' not in client.get(url_of(news, "/edit/content/news/a.md")).text


def test_translation_starts_with_a_copy_that_is_saved_at_its_path(news: ConsoleScene) -> None:
    owner, start = news.site.owner, url_of(news, "/translate/content/news/a.md")
    path, copy = "content/news/a.de.md", news.site.repo.show("content/news/a.md")
    started = submit(owner, start, language="de")
    assert started.location == url_of(news, f"/edit/{path}?panel=translation")
    assert "<span>German</span>" in owner.client.get(url_of(news, "/edit/content/news/a.md")).text
    assert path not in news.site.repo.entries()
    page = owner.client.get(started.location)
    assert '<h1 class="simple-page__title" dir="auto">Older</h1>' in page.text
    fields = form_of(page, "editor-form") | {"fm.title": "Älter"}
    assert "done=saved" in submit(owner, started.location, **fields).location
    saved = news.site.repo.show(path)
    assert saved == copy.replace(b"Older", "Älter".encode())
    assert submit(owner, start, language="de").location == started.location
    assert news.site.repo.show(path) == saved
    assert submit(owner, start, language="fr").status_code == 404
    assert "/translate/" not in owner.client.get(started.location).text


PLUGIN = "docusaurus-plugin-content-docs"
DOCUSAURUS: dict[str, Content] = {
    "docusaurus.config.js": b"export default { i18n: { defaultLocale: 'en', locales: ['en', 'it', 'uk'] } };\n",
    "docs/intro.md": b"---\ntitle: Intro\n---\nText\n",
    "docs/guide/start.md": b"---\ntitle: Start\n---\nText\n",
    f"i18n/uk/{PLUGIN}/current/intro.md": b"---\ntitle: Vstup\n---\nText\n",
    f"i18n/uk/{PLUGIN}/current/old.md": b"---\ntitle: Old\n---\nText\n",
    f"i18n/uk/{PLUGIN}/current/older.md": b"---\ntitle: Older\n---\nText\n",
}


def test_docusaurus_page_has_the_menu_of_all_languages_of_the_configuration(news: ConsoleScene) -> None:
    repo, client = news.site.repo, news.site.owner.client
    repo.commit(dict.fromkeys(repo.entries()) | DOCUSAURUS)
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    nav = client.get(url_of(news, "")).text
    assert re.findall(r'collections/([\w-]+)".*?sidebar__count">(\d+)<', nav) == [("docs", "2")]
    listed = open_list(news, name="docs").text
    assert [path for path, _line in rows(listed)] == ["docs/guide/start.md", "docs/intro.md"]
    assert re.findall(r'<a href="\?[^"]*" lang="(\w+)"', listed) == ["en", "uk", "it"]
    page = client.get(url_of(news, "/edit/docs/intro.md")).text
    assert f'href="{url_of(news, f"/edit/i18n/uk/{PLUGIN}/current/intro.md")}" lang="uk">Ukrainian</a>' in page
    assert "<span>Italian</span>" in page
    assert '" lang="en">English</a>' in client.get(url_of(news, f"/edit/i18n/uk/{PLUGIN}/current/intro.md")).text
    started = submit(news.site.owner, url_of(news, "/translate/docs/guide/start.md"), language="it")
    assert started.location == url_of(news, f"/edit/i18n/it/{PLUGIN}/current/guide/start.md?panel=translation")


FILTERED = b"""collections:
  - {name: all, folder: content/news, exclude: [e.md], fields: [{name: title, type: string}]}
  - {name: notes, folder: content/news, filter: {field: kind, values: [note]}, fields: [{name: title, type: string}]}
"""


def test_collections_of_one_folder_list_the_entries_of_their_filters(news: ConsoleScene) -> None:
    news.site.repo.commit({".galley.yml": FILTERED})
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    shown = {
        name: sorted(path.rpartition("/")[2] for path, _line in rows(open_list(news, name=name).text))
        for name in ("all", "notes")
    }
    assert shown == {"all": ["a.md", "b.md", "c.md", "d.md"], "notes": ["a.md", "d.md"]}
    nav = news.site.owner.client.get(url_of(news, "")).text
    assert re.findall(r'collections/(\w+)".*?sidebar__count">(\d+)<', nav) == [("all", "4"), ("notes", "2")]


def test_unknown_collection_is_an_error_page(news: ConsoleScene) -> None:
    assert open_list(news, name="none").status_code == 404


def test_collection_without_entries_offers_a_new_one(news: ConsoleScene) -> None:
    news.site.repo.commit({"content/notes/n.md": None})
    news.site.owner.post(news.site.path("/reindex")).ok(202)
    news.site.world.work_off()
    assert "This collection has no entry yet." in open_list(news, name="notes").text


def test_editor_and_deletion_lead_to_the_collection_in_the_language_of_the_entry(news: ConsoleScene) -> None:
    owner, base = news.site.owner, f"/console/projects/{news.ids['project_id']}"
    listed = f"{base}/collections/news?locale=de"
    news.site.commit({"path": "content/news/a.de.md", "action": "create", "content": "# Altes\n"}).ok(201)
    page = owner.client.get(f"{base}/edit/content/news/b.de.md")
    assert f'<a href="{listed}"><bdi>Content / News</bdi></a>' in page.text
    fields = form_of(page, f"{base}/delete/")
    deleted = submit(owner, f"{base}/delete/content/news/b.de.md", **fields)
    assert deleted.location == f"{listed}&done=deleted&undo={news.site.repo.head()}"


def test_new_page_is_listed_in_its_collection_for_its_author_only(news: ConsoleScene) -> None:
    owner, path = news.site.owner, "content/news/fog-horn.md"
    made = submit(owner, url_of(news, "/new/news"), title="Fog horn")
    assert made.location == url_of(news, f"/edit/{path}")
    line = f'{path}"><bdi>Fog horn</bdi></a> <span class="badge badge--warning">Not saved yet</span>'
    is_listed = {
        query: line in open_list(news, query).text
        for query in (
            "",
            "view=grid&q=HORN",
            "state=draft",
            "q=none",
            "state=published",
            "filter[kind]=note",
            "locale=de",
        )
    }
    assert [query for query, listed in is_listed.items() if listed] == ["", "view=grid&q=HORN", "state=draft"]
    assert line not in open_list(news, "state=all", "notes").text
    assert line not in news.people["editor"].client.get(url_of(news)).text
    assert "<bdi>Fog horn</bdi></a>" in owner.client.get(url_of(news, "")).text
    fields = form_of(owner.client.get(made.location), "editor-form")
    assert "done=saved" in submit(owner, made.location, **fields).location
    assert line not in open_list(news, "state=all").text
