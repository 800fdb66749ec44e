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


def save(console: ConsoleScene, url: str, **typed: str) -> None:
    """Save the new page in the editor."""
    owner = console.site.owner
    saved = submit(owner, url, **form_of(owner.client.get(url), "editor-form") | typed)
    assert "done=saved" in saved.location


def test_new_pages_have_names_with_the_marks_of_their_titles(console: ConsoleScene) -> None:
    owner, url = console.site.owner, f"/console/projects/{console.ids['project_id']}/new"
    for title, name in TITLES.items():
        fields = form_of(owner.client.get(f"{url}?folder=notes"), "data-new-form")
        made = submit(owner, url, **fields | {"title": title, "name": ""})
        assert unquote(urlsplit(made.location).path).endswith(f"/edit/notes/{name}")
        save(console, made.location)
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
        assert "done=saved" in submit(site.owner, url, **fields | {"fm.title": "New"}).location, name
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
    fields = form_of(owner.client.get(f"{base}/new/posts"), "data-new-form")
    made = submit(owner, f"{base}/new/posts", **fields | {"title": "Fog & tide", "name": ""})
    path = f"content/posts/{clock.now():%Y}/fog-tide.md"
    assert made.location == f"{base}/edit/{path}"
    save(console, made.location)
    text = console.site.repo.show(path).decode()
    assert text.startswith("---\ntitle: Fog & tide\nkind: note\nat: ")
    assert '+09:00"\nlayout' in text
    assert text.endswith("layout: post\n---\n\nWrite here.\n")
    shown = owner.client.get(made.location).text
    assert "\nFog &amp; tide</textarea>" in shown


@pytest.mark.parametrize(
    ("folder", "name", "present"),
    [
        ("content/posts", "FIRST.md", "first"),
        ("Content/posts", "new.md", "content"),
        ("content/posts", "Cafe\u0301.md", "caf\u00e9"),
    ],
)
def test_new_page_with_a_name_that_differs_in_case_only_is_refused_with_the_present_one(
    console: ConsoleScene, folder: str, name: str, present: str
) -> None:
    console.site.repo.commit({"content/posts/caf\u00e9.md": b"x\n"})
    url = f"/console/projects/{console.ids['project_id']}/new"
    response = submit(console.site.owner, url, title="", name=name, folder=folder)
    assert response.status_code == 400
    assert f"“{present}” exists. Enter another address." in html.unescape(response.text)


def test_new_page_needs_a_title_or_a_name(console: ConsoleScene) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    refused = submit(console.site.owner, f"{base}/new", title=" ", name="", folder="content/posts")
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
    page = console.site.owner.client.get(f"{base}/new?folder={folder}")
    [select] = re.findall(r'<select[^>]*name="collection".*?</select>', page.text, re.DOTALL)
    assert re.findall(r'value="([^"]*)"', select) == choices
    assert "Blog posts" in console.site.owner.client.get(f"{base}/content/").text
    fields = form_of(page, "data-new-form") | {"title": "Fog", "collection": chosen}
    made = submit(console.site.owner, f"{base}/new", **fields)
    assert made.location == f"{base}/edit/{path}"
    save(console, made.location)
    assert console.site.repo.show(path).startswith(b"---\ntitle: Fog\n")


def test_new_page_is_a_listed_draft_until_it_is_saved_with_the_typed_values(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner, head, path = site.owner, site.repo.head(), "content/posts/fog.md"
    site.repo.commit({".galley.yml": SCHEMA.replace(b"{{year}}/", b"")})
    owner.post(site.path("/reindex")).ok(202)
    site.world.work_off()
    head = site.repo.head()
    made = submit(owner, f"{base}/new/posts", title="Fog")
    assert made.location == f"{base}/edit/{path}"
    assert f'href="{base}/edit/{path}"' in owner.client.get(base).text
    sent = form_of(owner.client.get(made.location), "editor-form") | {"fm.layout": "", "body": "Typed.\r\n"}
    assert submit(owner, f"{base}/draft/{path}", **sent).status_code == 204
    assert site.repo.head() == head
    again = form_of(owner.client.get(made.location), "editor-form")
    assert (again["fm.layout"], again["body"].strip()) == ("", "Typed.")
    assert "done=saved" in submit(owner, made.location, **sent).location
    text = site.repo.show(path).decode()
    assert text.startswith("---\ntitle: Fog\nkind: note\nat: ")
    assert text.endswith('layout: ""\n---\nTyped.\n')
    assert "My drafts" not in owner.client.get(base).text


@pytest.mark.parametrize("is_draft", [True, False])
def test_new_page_has_the_chosen_draft_state(console: ConsoleScene, is_draft: bool) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    page = console.site.owner.client.get(f"{base}/new?folder=notes")
    assert 'id="draft" name="draft" value="1" checked' in page.text
    fields = form_of(page, "data-new-form") | {"title": "Fog"}
    if not is_draft:
        del fields["draft"]
    made = submit(console.site.owner, f"{base}/new", **fields)
    save(console, made.location)
    assert f"draft: {str(is_draft).lower()}\n" in console.site.repo.show("notes/fog.md").decode()


def test_new_page_with_the_path_of_a_draft_is_refused_and_the_draft_remains(console: ConsoleScene) -> None:
    owner, base = console.site.owner, f"/console/projects/{console.ids['project_id']}"
    made = submit(owner, f"{base}/new", title="Fog", folder="notes")
    sent = form_of(owner.client.get(made.location), "editor-form") | {"body": "Typed.\r\n"}
    assert submit(owner, f"{base}/draft/notes/fog.md", **sent).status_code == 204
    refused = submit(owner, f"{base}/new", title="Fog", folder="notes")
    assert refused.status_code == 400
    assert 'id="name-error"' in refused.text
    assert form_of(owner.client.get(made.location), "editor-form")["body"].strip() == "Typed."


def test_discarded_new_page_leaves_nothing(console: ConsoleScene) -> None:
    owner, base = console.site.owner, f"/console/projects/{console.ids['project_id']}"
    head = console.site.repo.head()
    made = submit(owner, f"{base}/new", title="Fog", folder="notes")
    fields = form_of(owner.client.get(made.location), "/discard-draft/")
    assert submit(owner, f"{base}/discard-draft/notes/fog.md", **fields).location == f"{base}?done=draft-deleted"
    assert owner.client.get(made.location).status_code == 404
    assert console.site.repo.head() == head


def test_page_that_another_user_created_keeps_the_typed_text(console: ConsoleScene) -> None:
    owner, base = console.site.owner, f"/console/projects/{console.ids['project_id']}"
    made = submit(owner, f"{base}/new", title="Fog", folder="notes")
    sent = form_of(owner.client.get(made.location), "editor-form") | {"body": "Mine.\r\n"}
    console.site.repo.commit({"notes/fog.md": b"Theirs.\n"})
    stopped = submit(owner, made.location, **sent)
    assert stopped.location == f"{base}/conflict/notes/fog.md"
    shown = owner.client.get(stopped.location).text
    assert "Mine." in shown
    assert "Theirs." in shown
    assert console.site.repo.show("notes/fog.md") == b"Theirs.\n"


@pytest.mark.parametrize("is_developer", [False, True])
def test_form_of_a_new_page_shows_its_path_in_the_developer_view_only(
    console: ConsoleScene, is_developer: bool
) -> None:
    owner = console.site.owner
    view = {"developer_view": "1"} if is_developer else {}
    submit(owner, "/console/account/preferences", **view, language="en", theme="system", timezone="UTC")
    shown = owner.client.get(
        f"/console/projects/{console.ids['project_id']}/new?folder=content/blog/2025&title=Fog"
    ).text
    form = shown[shown.index("data-new-form") :]
    assert ("content/blog/2025/fog.md" in form) is is_developer
    assert ("<bdi>Blog / 2025</bdi>" in shown) is not is_developer
    assert '<label class="field__label" for="name">Address</label>' in form


def test_path_of_a_new_page_is_read_while_the_title_is_typed(console: ConsoleScene) -> None:
    url = f"/console/projects/{console.ids['project_id']}/new?folder=notes&title=Low tide"
    read = console.site.owner.client.get(url, headers={"Accept": "application/json"})
    assert read.json == {"path": "notes/low-tide.md", "address": "low-tide", "knowsDrafts": True}


REQUIRED = b"""backend: {name: git-gateway}
collections:
  - name: posts
    folder: content/posts
    create: true
    fields:
      - {name: title, widget: string}
      - {name: date, widget: datetime}
      - {name: category, widget: select, options: [news, essay]}
      - {name: featured, widget: boolean}
      - {name: note, widget: string, required: false}
      - {name: tags, widget: list}
      - {name: seo, widget: object, fields: [{name: words, widget: string, required: false}]}
      - {name: hero, widget: object, fields: [{name: alt, widget: string}]}
      - {name: body, widget: markdown}
"""
MISSING = ("fm.category", "fm.tags", "fm.hero/alt", "body")


def required_scene(console: ConsoleScene) -> str:
    """Commit a configuration with required fields. Return the URL of the editor of a new page."""
    old = b"---\ntitle: Old\ncategory: news\n---\n\nText\n"
    console.site.repo.commit({"static/admin/config.yml": REQUIRED, "content/posts/old.md": old})
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    owner, base = console.site.owner, f"/console/projects/{console.ids['project_id']}"
    fields = form_of(owner.client.get(f"{base}/new/posts"), "data-new-form")
    return submit(owner, f"{base}/new/posts", **fields | {"title": "Fog", "name": ""}).location


@pytest.mark.parametrize("destination", [{}, {"save-to": "proposal", "change-set": "new"}])
def test_new_page_without_required_values_is_not_saved(console: ConsoleScene, destination: dict[str, str]) -> None:
    url, owner, head = required_scene(console), console.site.owner, console.site.repo.head()
    sent = form_of(owner.client.get(url), "editor-form") | {"fm.note": "Typed", "body": "\n"} | destination
    refused = submit(owner, url, **sent)
    assert refused.status_code == 400
    assert re.findall(r'class="field__error" id="([^"]+)-error"', refused.text) == ["body", *MISSING[:-1]]
    assert len(re.findall(" autofocus", refused.text)) == 1
    assert re.search(r'id="body"[^>]* autofocus', refused.text)
    assert console.site.repo.head() == head
    assert "Typed" in owner.client.get(url).text  # The draft contains it.
    complete = {"fm.category": '"essay"', "fm.tags": "sea", "fm.hero/alt": "A lamp", "body": "Text"}
    for name in MISSING:
        assert submit(owner, url, **sent | complete | {name: ""}).status_code == 400
    assert "done=saved" in submit(owner, url, **sent | complete).location


def test_only_a_required_value_that_an_edit_removes_is_refused(console: ConsoleScene) -> None:
    url = required_scene(console).replace("/fog.md", "/old.md")
    owner = console.site.owner
    sent = form_of(owner.client.get(url), "editor-form")
    assert "done=saved" in submit(owner, url, **sent | {"fm.title": "New"}).location
    sent = form_of(owner.client.get(url), "editor-form")
    for name in ("fm.title", "fm.category", "body"):
        refused = submit(owner, url, **sent | {name: ""})
        assert refused.status_code == 400
        assert f'id="{name}-error"' in refused.text
