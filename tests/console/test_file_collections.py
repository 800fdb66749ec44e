"""Collections of files as the owner of the site named them, and actions that the configuration does not permit."""

import html
import re
from typing import Any

import pytest

from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

CONFIG = b"""\
backend: {name: git-gateway}
collections:
  - name: site
    label: Site settings
    files:
      - {name: footer, label: Footer, file: data/footer.json, fields: [{name: title}]}
      - {name: absent, label: Absent, file: data/absent.json, fields: [{name: title}]}
  - {name: post, label: Post, folder: content/post, create: true, fields: [{name: title}]}
  - name: pages
    label: Pages
    files:
      - name: home
        label: Home
        file: content/post/_index.md
        fields: [{name: subtitle}, {name: hero, widget: object, fields: [{name: text}]}, {name: image, widget: image}]
      - {name: footer, label: Products, file: content/products/_index.md, fields: [{name: title}]}
  - {name: notes, label: Notes, folder: content/notes, fields: [{name: title}]}
  - {name: legal, label: Legal, folder: content/legal, create: true, delete: false, fields: [{name: title}]}
  - {name: more, label: Pages, files: [{name: home, label: Home, file: content/more.md, fields: [{name: title}]}]}
singletons:
  - {name: contact, label: Contact, file: content/contact.md, fields: [{name: title}]}
"""
FILES = {
    "admin/config.yml": CONFIG,
    "data/footer.json": b'{"title": "Kaldi"}',
    "data/other.json": b'{"a": "b"}',
    "content/post/_index.md": b"---\ntitle: Great coffee\n---\n\nKept  \r\n",
    "content/post/one.md": b"---\ntitle: One\n---\n",
    "content/products/_index.md": b"---\ntitle: Our coffee\n---\n",
    "content/notes/n.md": b"---\ntitle: Note\n---\n",
    "content/legal/terms.md": b"---\ntitle: Terms\n---\n",
    "content/more.md": b"---\ntitle: More\n---\n",
    "content/contact.md": b"---\ntitle: Write to us\n---\n",
}
REFUSED = "The configuration of the site does not permit moving or deleting “{}”"
NOT_CREATED = "The configuration of the site does not permit new entries here."


class Kaldi:
    """The owner of a site with a configuration of Decap."""

    def __init__(self, console: ConsoleScene) -> None:
        self.site = console.site
        self.base = f"/console/projects/{console.ids['project_id']}"
        self.site.repo.commit(dict.fromkeys(self.site.repo.entries()) | FILES)
        self.site.owner.post(self.site.path("/reindex")).ok(202)
        self.site.world.work_off()

    def page(self, path: str = "") -> str:
        response = self.site.owner.client.get(f"{self.base}{path}")
        assert response.status_code == 200
        return html.unescape(str(response.text))

    def send(self, path: str, **fields: Any) -> str:
        """Send a form and return the text of the page that refuses it."""
        head = self.site.repo.head()
        done = submit(self.site.owner, f"{self.base}{path}", **{"base_sha": head} | fields)
        assert done.status_code in (400, 422), done.location
        assert self.site.repo.head() == head
        return html.unescape(str(done.text))


@pytest.fixture
def kaldi(console: ConsoleScene) -> Kaldi:
    return Kaldi(console)


def test_navigation_has_the_collections_of_the_owner_in_their_order(kaldi: Kaldi) -> None:
    listed = re.search(r'aria-labelledby="collections">(.*?)</ul>', kaldi.page(), re.DOTALL)
    assert listed is not None
    entries = re.findall(r'href="([^"]*)"[^>]*>(?:<svg.*?</svg>)?<span>([^<]*)</span></a>(?:<[^>]*>(\d+))?', listed[1])
    assert [(url.removeprefix(kaldi.base), label, count) for url, label, count in entries] == [
        ("/collections/site", "Site settings", "1"),
        ("/collections/post", "Post", "2"),
        ("/collections/pages", "Pages", "2"),
        ("/collections/notes", "Notes", "1"),
        ("/collections/legal", "Legal", "1"),
        ("/collections/more", "Pages 2", "1"),
        ("/edit/content/contact.md", "Contact", ""),
    ]
    assert kaldi.site.owner.client.get(f"{kaldi.base}/collections").location == f"{kaldi.base}/collections/site"


def test_collection_of_files_lists_them_with_their_labels(kaldi: Kaldi) -> None:
    page = kaldi.page("/collections/pages")
    assert re.search(r"<h1[^>]*>Pages</h1>", page)
    assert re.findall(r'/edit/([^"]*)"><bdi>([^<]*)', page) == [
        ("content/post/_index.md", "Home"),
        ("content/products/_index.md", "Products"),
    ]
    assert 'aria-current="page"' in next(line for line in page.splitlines() if "/collections/pages" in line)
    assert "New entry" not in page


def test_data_are_only_files_that_no_schema_describes(kaldi: Kaldi) -> None:
    assert re.findall(r'/edit/data[^"]*"><bdi>([^<]*)', kaldi.page("/data")) == ["Other"]


def test_history_names_a_file_by_its_label(kaldi: Kaldi) -> None:
    path = "content/post/_index.md"
    kaldi.site.repo.commit({path: FILES[path] + b"More"}, f"Update {path}")
    assert "<bdi>Update “Home”</bdi>" in kaldi.page("/history")


@pytest.mark.parametrize(
    ("file", "collection", "label", "heading"),
    [
        ("content/products/_index.md", "pages", "Pages", "Products"),
        ("data/footer.json", "site", "Site settings", "Footer"),
        ("content/post/_index.md", "pages", "Pages", "Home"),
        ("content/more.md", "more", "Pages 2", "Home"),
        ("content/post/one.md", "post", "Post", "One"),
    ],
)
def test_breadcrumb_is_the_collection_and_the_label_of_the_file(
    kaldi: Kaldi, file: str, collection: str, label: str, heading: str
) -> None:
    page = kaldi.page(f"/edit/{file}")
    parent = f'<a href="{kaldi.base}/collections/{collection}"><bdi>{label}</bdi></a>'
    assert parent in page
    assert re.search(rf"<h1[^>]*><bdi>{heading}</bdi>", page)
    trail = kaldi.page(f"/history/{file}").partition('class="breadcrumb"')[2].partition("</nav>")[0]
    assert parent in trail
    assert f"<bdi>{heading}</bdi>" in trail


def test_page_without_a_declared_text_is_a_form_and_keeps_its_text(kaldi: Kaldi) -> None:
    url = f"{kaldi.base}/edit/content/post/_index.md"
    page = kaldi.page("/edit/content/post/_index.md")
    assert re.findall(r'id="fm\.([^"]*?)"', page) == ["title", "image", "subtitle", "hero/text"]
    assert ('name="body"' in page, "data-form" in page, "?mode=source" in page) == (False, True, True)
    form = form_of(kaldi.site.owner.client.get(url), "editor-form") | {"fm.subtitle": "Fair", "fm.hero/text": "Hot"}
    assert "done=saved" in submit(kaldi.site.owner, url, **form).location
    text = b"---\ntitle: Great coffee\nsubtitle: Fair\nhero:\n  text: Hot\n---\n\nKept  \r\n"
    assert kaldi.site.repo.show("content/post/_index.md") == text
    assert "\nKept  " in kaldi.page("/edit/content/post/_index.md?mode=source")


def test_file_in_the_folder_of_a_collection_has_its_own_fields(kaldi: Kaldi) -> None:
    assert 'name="fm.subtitle"' in kaldi.page("/edit/content/post/_index.md")


@pytest.mark.parametrize(
    ("file", "offered"),
    [
        ("content/post/one.md", {"delete", "rename", "duplicate"}),
        ("content/post/_index.md", set()),
        ("content/legal/terms.md", {"duplicate"}),
        ("content/notes/n.md", {"delete", "rename"}),
    ],
)
def test_editor_offers_the_actions_that_the_configuration_permits(kaldi: Kaldi, file: str, offered: set[str]) -> None:
    page = kaldi.page(f"/edit/{file}")
    assert {action for action in ("delete", "rename", "duplicate") if f"/{action}/{file}" in page} == offered


@pytest.mark.parametrize("file", ["content/post/_index.md", "content/legal/terms.md", "data/footer.json"])
def test_forms_of_protected_files_are_refused(kaldi: Kaldi, file: str) -> None:
    text = REFUSED.format(file)
    assert text in kaldi.send(f"/delete/{file}")
    assert text in kaldi.send(f"/rename/{file}", new_path="content/else.md")
    assert text in kaldi.send("/bulk-delete", select=[file], folder="")
    assert text in kaldi.send("/bulk-move", select=[file], folder="", target="content/notes")


def test_selection_with_a_protected_file_is_refused_as_a_whole(kaldi: Kaldi) -> None:
    text = kaldi.send("/collections/post", action="delete", select=["content/post/one.md", "content/post/_index.md"])
    assert REFUSED.format("content/post/_index.md") in text


def test_lists_offer_permitted_actions(kaldi: Kaldi) -> None:
    shown = {name: kaldi.page(f"/collections/{name}") for name in ("post", "notes", "legal")}
    offered = {
        name: ("New entry" in page, 'value="delete"' in page, 'name="select"' in page) for name, page in shown.items()
    }
    assert offered == {"post": (True, True, True), "notes": (False, True, True), "legal": (True, False, False)}
    assert ["New page" in kaldi.page(f"/content/content/{folder}") for folder in ("post", "notes")] == [True, False]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/new/notes", {"folder": "content/notes", "title": "A"}),
        ("/new", {"folder": "content/notes", "title": "A"}),
        ("/new", {"folder": "content", "name": "notes/a.md"}),
        ("/new", {"folder": "data", "name": "absent.json"}),
        ("/duplicate/content/notes/n.md", {}),
        ("/duplicate/content/post/_index.md", {}),
    ],
)
def test_new_entry_is_refused_where_the_configuration_does_not_permit_it(
    kaldi: Kaldi, path: str, fields: dict[str, str]
) -> None:
    assert NOT_CREATED in kaldi.send(path, **fields)


def test_entries_are_created_and_deleted_where_the_configuration_permits_it(kaldi: Kaldi) -> None:
    made = submit(kaldi.site.owner, f"{kaldi.base}/new/legal", folder="content/legal", title="Privacy")
    assert made.location == f"{kaldi.base}/edit/content/legal/privacy.md"
    client = kaldi.site.owner.client
    form = form_of(client.get(f"{kaldi.base}/edit/content/notes/n.md"), f"{kaldi.base}/delete/")
    assert "done=deleted" in submit(kaldi.site.owner, f"{kaldi.base}/delete/content/notes/n.md", **form).location
    assert "content/notes/n.md" not in kaldi.site.repo.entries()


def test_api_does_not_follow_the_permissions_of_the_configuration(kaldi: Kaldi) -> None:
    kaldi.site.commit({"path": "content/legal/terms.md", "action": "delete"}).ok(201)
    listed = kaldi.site.owner.get(f"/project/{kaldi.site.project}/schema").ok()["collections"]
    assert {"name", "folder", "pattern", "fields"} <= set(listed[0])
    assert not {"group", "can_create", "can_delete"} & set(listed[0])
