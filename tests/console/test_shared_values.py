"""A save of an entry writes the values that all its languages share to their files, in the same commit."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.console.conftest import ConsoleScene
from tests.console.test_editing import form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

CONFIG = {
    "backend": {"name": "git-gateway"},
    "i18n": {"locales": ["en", "de", "fr"], "structure": "multiple_files", "default_locale": "en"},
    "collections": [
        {
            "name": "posts",
            "folder": "blog",
            "create": True,
            "i18n": True,
            "fields": [
                {"name": "title", "i18n": True},
                {"name": "order", "widget": "number", "value_type": "int", "i18n": "duplicate"},
                {"name": "draft", "widget": "boolean", "required": False, "i18n": "duplicate"},
            ],
        }
    ],
}
ENGLISH, GERMAN, FRENCH = (f"blog/fog.{code}.md" for code in ("en", "de", "fr"))
FILES = {
    "admin/config.yml": json.dumps(CONFIG).encode(),
    ENGLISH: b"---\ntitle: Fog\norder: 1\n---\nText\n",
    GERMAN: b"---\r\ntitle: 'Nebel'  # de\r\norder: 1\r\n---\r\nText\r\n",
    "blog/sea.en.md": b"---\ntitle: Sea\norder: 5\n---\nText\n",
}


@dataclass
class Site:
    console: ConsoleScene

    @property
    def base(self) -> str:
        return f"/console/projects/{self.console.ids['project_id']}"

    @property
    def repo(self) -> Any:
        return self.console.site.repo

    def save(self, path: str, **fields: str) -> Any:
        owner = self.console.site.owner
        sent = form_of(owner.client.get(f"{self.base}/edit/{path}"), "editor-form")
        return submit(owner, f"{self.base}/edit/{path}", **sent | fields)


@pytest.fixture
def site(console: ConsoleScene) -> Site:
    console.site.repo.commit(dict.fromkeys(console.site.repo.entries()) | FILES)
    console.site.owner.post(console.site.path("/reindex")).ok(202)
    console.site.world.work_off()
    return Site(console)


def changed(site: Site, ref: str = "main") -> set[str]:
    return set(site.repo.text("diff", "--name-only", f"{ref}~1", ref).split())


def test_save_writes_shared_values_to_the_other_languages(site: Site) -> None:
    assert "done=saved" in site.save(ENGLISH, **{"fm.order": "2", "fm.title": "Dense fog"}).location
    assert changed(site) == {ENGLISH, GERMAN}
    assert site.repo.show(ENGLISH) == b"---\ntitle: Dense fog\norder: 2\n---\nText\n"
    assert site.repo.show(GERMAN) == FILES[GERMAN].replace(b"order: 1", b"order: 2")


def test_save_of_a_translation_or_of_an_equal_value_changes_its_file_only(site: Site) -> None:
    site.save(GERMAN, **{"fm.title": "Dichter Nebel"})
    assert changed(site) == {GERMAN}
    site.save(ENGLISH, **{"fm.title": "Dense fog"})
    assert changed(site) == {ENGLISH}
    site.save("blog/sea.en.md", **{"fm.order": "6"})
    assert changed(site) == {"blog/sea.en.md"}


def test_other_language_that_changed_since_the_page_was_opened_is_saved(site: Site) -> None:
    owner = site.console.site.owner
    sent = form_of(owner.client.get(f"{site.base}/edit/{ENGLISH}"), "editor-form")
    german = FILES[GERMAN].replace(b"Nebel", b"Dunst")
    site.repo.commit({GERMAN: german})
    assert "done=saved" in submit(owner, f"{site.base}/edit/{ENGLISH}", **sent | {"fm.order": "3"}).location
    assert site.repo.show(GERMAN) == german.replace(b"order: 1", b"order: 3")


def test_proposed_save_writes_shared_values(site: Site) -> None:
    proposal = {"save-to": "proposal", "change-set": "new", "change-set-title": "Order"}
    assert site.save(ENGLISH, **{"fm.order": "4"}, **proposal).status_code == 303
    refs = site.repo.text("for-each-ref", "--format=%(refname)", "refs/heads").split()
    [branch] = [name for name in refs if not name.endswith("/main")]
    assert changed(site, branch) == {ENGLISH, GERMAN}
    assert site.repo.show(GERMAN) == FILES[GERMAN]


def test_selected_pages_are_drafts_in_all_languages(site: Site) -> None:
    sent = {"base_sha": site.repo.head(), "folder": "blog", "select": [ENGLISH], "state": "draft"}
    done = submit(site.console.site.owner, f"{site.base}/bulk-state", **sent)
    assert "done=saved" in done.location
    assert changed(site) == {ENGLISH, GERMAN}
    assert b"\r\ndraft: true\r\n" in site.repo.show(GERMAN)


def test_validated_save_of_the_api_writes_shared_values(site: Site) -> None:
    api = site.console.site
    file = {"path": ENGLISH, "action": "update", "content": "---\ntitle: Fog\norder: 7\n---\nText\n"}
    body = {"message": "Order", "base_sha": site.repo.head(), "files": [file]}
    api.owner.post(api.path("/commit"), body | {"validate": True}).ok(201)
    assert changed(site) == {ENGLISH, GERMAN}
    assert site.repo.show(GERMAN) == FILES[GERMAN].replace(b"order: 1", b"order: 7")
    file["content"] = "---\ntitle: Fog\norder: 8\n---\nText\n"
    api.owner.post(api.path("/commit"), body | {"base_sha": site.repo.head()}).ok(201)
    assert changed(site) == {ENGLISH}


@pytest.mark.parametrize("merge", [{}, {"on_conflict": "merge"}])
def test_validated_edit_of_front_matter_writes_shared_values(site: Site, merge: dict[str, str]) -> None:
    api = site.console.site
    body = {"file": ENGLISH, "set": {"order": 3}, "base_sha": site.repo.head(), "validate": True} | merge
    api.owner.patch(api.path("/front-matter"), body).ok(200)
    assert changed(site) == {ENGLISH, GERMAN}
    assert site.repo.show(GERMAN) == FILES[GERMAN].replace(b"order: 1", b"order: 3")


@pytest.mark.parametrize("merge", [{}, {"on_conflict": "merge"}])
def test_save_that_contains_the_translation_and_its_faults(site: Site, merge: dict[str, str]) -> None:
    api = site.console.site
    site.repo.commit({FRENCH: b"---\norder: 1\n---\n"})
    files = [
        {"path": ENGLISH, "action": "update", "content": "---\ntitle: Fog\norder: 9\n---\nText\n"},
        {"path": GERMAN, "action": "update", "content": "---\ntitle: Dunst\norder: 1\n---\n"},
    ]
    body = {"message": "Order", "base_sha": site.repo.head(), "files": files, "validate": True} | merge
    api.owner.post(api.path("/commit"), body).ok(201)
    assert site.repo.show(GERMAN) == b"---\ntitle: Dunst\norder: 9\n---\n"
    assert site.repo.show(FRENCH) == b"---\norder: 9\n---\n"
