"""New pages with the template of their collection, and pages with names of any script, with plain forms."""

import html
import re
from urllib.parse import unquote, urlsplit

import pytest

from app.core import clock
from app.extensions import db
from app.models.user import UserPreference
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

SCHEMA = b"""collections:
  - name: posts
    folder: content/posts
    fields:
      - {name: title, type: string, required: true}
      - {name: kind, type: select, options: [note, essay], default: note}
      - {name: at, type: datetime}
    template:
      path: "{{year}}/{{slug}}.md"
      values: {layout: post, at: "{{date}}"}
      body: "Write here.\\n"
"""

TITLES = {
    "हिन्दी में जानकारी": "हिन्दी-में-जानकारी.md",
    "ภาษาไทยสวัสดี": "ภาษาไทยสวัสดี.md",
    "বাংলা তথ্য": "বাংলা-তথ্য.md",
    "日本語のタイトル": "日本語のタイトル.md",
    "Über café": "über-café.md",
    "தமிழ் மொழி": "தமிழ்-மொழி.md",
}
FILE_NAMES = [
    'it\'s "q".md',
    "%41.md",
    "a+b.md",
    "a b.md",
    "-dash.md",
    "--help.md",
    ":colon.md",
    "*.md",
    "[a].md",
    "{{x}}.md",
    "a&b=c.md",
    "a?b.md",
    "a#b.md",
    "100%.md",
    "<b>.md",
    "~t.md",
    "$x.md",
    "हिन्दी-में.md",
    "é.md",
    "ที่.md",
]


def test_new_pages_have_names_with_the_marks_of_their_titles(console: ConsoleScene) -> None:
    owner, folder = console.site.owner, f"/console/projects/{console.ids['project_id']}/content/notes"
    for title, name in TITLES.items():
        fields = form_of(owner.client.get(folder), 'class="form form--inline"')
        made = submit(owner, folder, **fields | {"title": title, "name": ""})
        assert unquote(urlsplit(made.location).path).endswith(f"/edit/notes/{name}")
        assert f"\n{title}</textarea>" in owner.client.get(made.location).text
        assert f"title: {title}" in console.site.repo.show(f"notes/{name}").decode()


def test_pages_with_any_name_are_opened_from_the_list_and_saved(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    site.repo.commit({f"names/{name}": b"---\ntitle: Old\n---\n\nText\n" for name in FILE_NAMES})
    site.owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    listed = site.owner.client.get(f"{base}/content/names").text
    urls = {html.unescape(url) for url in re.findall(rf'href="({base}/edit/names/[^"]*)"', listed)}
    assert {unquote(urlsplit(url).path).removeprefix(f"{base}/edit/names/") for url in urls} == set(FILE_NAMES)
    for url in urls:
        name = unquote(urlsplit(url).path).removeprefix(f"{base}/edit/names/")
        fields = form_of(site.owner.client.get(url), "editor-form")
        assert submit(site.owner, url, **fields | {"fm.title": "New"}).location.endswith("done=saved"), name
        assert site.repo.show(f"names/{name}") == b"---\ntitle: New\n---\n\nText\n", name


def test_new_page_has_the_template_of_its_collection(console: ConsoleScene) -> None:
    console.site.repo.commit({".galley.yml": SCHEMA})
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    owner, base = console.site.owner, f"/console/projects/{console.ids['project_id']}"
    with console.app.app_context():
        row = db.session.get(UserPreference, owner.id) or UserPreference(user_id=owner.id)
        row.timezone = "Asia/Tokyo"
        db.session.add(row)
        db.session.commit()
    fields = form_of(owner.client.get(f"{base}/content/content/posts"), 'class="form form--inline"')
    made = submit(owner, f"{base}/content/content/posts", **fields | {"title": "Fog & tide", "name": ""})
    path = f"content/posts/{clock.now():%Y}/fog-tide.md"
    assert made.location == f"{base}/edit/{path}?done=created"
    text = console.site.repo.show(path).decode()
    assert text.startswith("---\ntitle: Fog & tide\nkind: note\nat: ")
    assert '+09:00"\nlayout' in text
    assert text.endswith("layout: post\n---\n\nWrite here.\n")
    shown = owner.client.get(made.location).text
    assert "\nFog &amp; tide</textarea>" in shown


def test_new_page_needs_a_title_or_a_name(console: ConsoleScene) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    refused = submit(console.site.owner, f"{base}/content/content/posts", title=" ", name="", base_sha="0" * 40)
    assert refused.status_code == 400
    assert 'id="title-error"' in refused.text


COLLECTIONS = b"""collections:
  - {name: posts, label: Blog posts, folder: content/posts, fields: [{name: title, type: string}]}
  - name: notes
    folder: content/posts
    fields: [{name: title, type: string}]
    template: {path: "note-{{slug}}.md"}
"""


@pytest.mark.parametrize(
    ("folder", "choices", "chosen", "path"),
    [
        ("content/posts", ["posts", "notes"], "notes", "content/posts/note-fog.md"),
        ("content/posts", ["posts", "notes"], "posts", "content/posts/fog.md"),
        ("content", ["", "posts", "notes"], "notes", "content/posts/note-fog.md"),
        ("content", ["", "posts", "notes"], "", "content/fog.md"),
    ],
)
def test_new_page_has_the_chosen_collection(
    console: ConsoleScene, folder: str, choices: list[str], chosen: str, path: str
) -> None:
    console.site.repo.commit({".galley.yml": COLLECTIONS})
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    base = f"/console/projects/{console.ids['project_id']}"
    page = console.site.owner.client.get(f"{base}/content/{folder}")
    [select] = re.findall(r'<select[^>]*name="collection".*?</select>', page.text, re.DOTALL)
    assert re.findall(r'value="([^"]*)"', select) == choices
    assert "Blog posts" in console.site.owner.client.get(f"{base}/content/").text
    fields = form_of(page, 'class="form form--inline"') | {"title": "Fog", "collection": chosen}
    made = submit(console.site.owner, f"{base}/content/{folder}", **fields)
    assert made.location == f"{base}/edit/{path}?done=created"
    assert console.site.repo.show(path).startswith(b"---\ntitle: Fog\n")
