"""Tests of drafts whose file was deleted, renamed or removed by a force push while it was open."""

import html
from urllib.parse import quote

import pytest

from tests.console.conftest import ConsoleScene
from tests.console.test_editing import FILE, form_of
from tests.console.test_organizations import submit

pytestmark = pytest.mark.one_database

MOVED = "content/notes/renamed page.md"


class Editor:
    """A user who has typed text in the editor of a page, before another person changes the branch."""

    def __init__(self, console: ConsoleScene) -> None:
        self.site, self.base = console.site, f"/console/projects/{console.ids['project_id']}"
        self.owner, self.url = self.site.owner, f"{self.base}/edit/{FILE}"
        self.fields = form_of(self.owner.client.get(self.url), "editor-form")
        self.before = self.site.repo.show(FILE)
        self.typed = self.before.replace(b"One line.", b"My line.")

    def save(self) -> str:
        """Save the text and return the page to which the service leads."""
        body = self.fields["body"].replace("One line.", "My line.")
        stopped = submit(self.owner, self.url, **self.fields | {"body": body})
        assert stopped.location == f"{self.base}/conflict/{FILE}"
        return self.owner.client.get(stopped.location).text

    def choose(self, action: str, **fields: str) -> str:
        """Send a form of the page and return the location of the response."""
        view = self.owner.client.get(f"{self.base}/conflict/{FILE}")
        sent = form_of(view, "removed-form")
        return submit(self.owner, f"{self.base}/removed/{FILE}", **sent | {"action": action} | fields).location

    @property
    def drafts(self) -> list[str]:
        """The files of the drafts that the project page lists."""
        return [draft["file"] for draft in self.owner.get(f"/project-draft/{self.site.project}").ok()]


@pytest.fixture
def editor(console: ConsoleScene) -> Editor:
    return Editor(console)


def test_deleted_page_shows_the_text_and_the_person(editor: Editor) -> None:
    editor.site.repo.commit({FILE: None})
    shown = editor.save()
    for text in ("My line.", "Ada Author deleted it", "Restore the page with my text", "Save as a new page"):
        assert text in shown
    assert "Continue in the renamed page" not in shown
    assert "<p>My line.</p>" in shown


def test_draft_of_a_deleted_page_is_listed_and_opens(editor: Editor) -> None:
    submit(editor.owner, f"{editor.base}/draft/{FILE}", **editor.fields | {"body": "Typed."})
    editor.site.repo.commit({FILE: None})
    editor.site.world.work_off()
    assert f'/{FILE}">' in editor.owner.client.get(editor.base).text
    assert editor.owner.client.get(editor.url).location == f"{editor.base}/conflict/{FILE}"
    assert "Typed." in editor.owner.client.get(f"{editor.base}/conflict/{FILE}").text


def test_address_of_before_a_renaming_leads_to_the_page_and_that_of_a_deleted_page_does_not(editor: Editor) -> None:
    editor.site.repo.commit({FILE: None, MOVED: editor.before})
    answer = editor.owner.client.get(f"{editor.url}?mode=source")
    assert answer.location == f"{editor.base}/edit/{quote(MOVED)}?mode=source"
    assert editor.owner.client.get(answer.location).status_code == 200
    editor.site.repo.commit({MOVED: None})
    assert editor.owner.client.get(editor.url).status_code == 404


@pytest.mark.parametrize("has_draft", [True, False])
@pytest.mark.parametrize("path", [None, MOVED])
def test_refused_form_of_a_removed_page_shows_the_typed_text(editor: Editor, path: str | None, has_draft: bool) -> None:
    sent = editor.fields | {"body": "Typed.", "fm.date": "garbage"}
    if has_draft:
        submit(editor.owner, f"{editor.base}/draft/{FILE}", **editor.fields | {"body": "Draft."})
    editor.site.repo.commit({FILE: None} | ({path: editor.before} if path else {}))
    for more in ({}, {"list-action": "add 0 fm.tags"}):
        refused = submit(editor.owner, editor.url, **sent | more)
        assert "Typed." in refused.text
        assert form_of(refused, "editor-form")["fm.date"] == "garbage"
    stored = submit(editor.owner, editor.url, **sent | {"fm.date": editor.fields["fm.date"]})
    assert stored.location == f"{editor.base}/conflict/{FILE}"
    assert "Typed." in editor.owner.client.get(stored.location).text


def test_restore_commits_the_text_at_the_same_path(editor: Editor) -> None:
    editor.site.repo.commit({FILE: None})
    editor.save()
    assert editor.choose("restore").endswith(f"/edit/{FILE}?done=saved")
    assert editor.site.repo.show(FILE) == editor.typed
    assert editor.drafts == []


def test_new_page_commits_the_shown_text_at_another_path(editor: Editor) -> None:
    editor.site.repo.commit({FILE: None})
    editor.save()
    body = editor.typed.decode().replace("My line.", "Corrected.")
    assert editor.choose("create", body=body, new_path="copy").endswith("/edit/content/posts/copy.md?done=saved")
    assert editor.site.repo.show("content/posts/copy.md") == editor.typed.replace(b"My line.", b"Corrected.")
    assert FILE not in editor.site.repo.entries()


def test_taken_path_keeps_the_corrected_text(editor: Editor) -> None:
    editor.site.repo.commit({FILE: None})
    editor.save()
    body = {"body": "Corrected.", "action": "create", "new_path": "content/posts/second.md"}
    failed = submit(editor.owner, f"{editor.base}/removed/{FILE}", **body)
    assert failed.status_code == 409
    assert "Corrected." in failed.text
    assert 'value="content/posts/second.md"' in failed.text
    assert "Corrected." in editor.owner.client.get(f"{editor.base}/conflict/{FILE}").text


@pytest.mark.parametrize("steps", [[MOVED], ["content/between.md", MOVED]])
def test_renamed_page_is_followed_and_merged(editor: Editor, steps: list[str]) -> None:
    theirs = editor.before.replace(b"Another line.", b"Their line.")
    for old, new in zip([FILE, *steps], steps, strict=False):
        editor.site.repo.commit({old: None, new: theirs})
    shown = html.unescape(editor.save())
    assert "Ada Author renamed it to “Renamed page”" in shown
    assert "My line." in shown
    location = editor.choose("follow")
    assert location == f"{editor.base}/conflict/{quote(MOVED)}"
    assert editor.drafts == [MOVED]
    view = editor.owner.client.get(location)
    merged = form_of(view, "conflict-form")
    assert "done=saved" in submit(editor.owner, location, **merged | {"action": "save"}).location
    assert editor.site.repo.show(MOVED) == theirs.replace(b"One line.", b"My line.")
    assert editor.drafts == []


def test_follow_does_not_replace_another_draft(editor: Editor) -> None:
    editor.site.repo.commit({FILE: None, MOVED: editor.before})
    editor.save()
    editor.owner.put(f"/project-draft/{editor.site.project}?file={quote(MOVED)}", {"content": "Other draft."}).ok()
    view = form_of(editor.owner.client.get(f"{editor.base}/conflict/{FILE}"), "removed-form")
    refused = submit(editor.owner, f"{editor.base}/removed/{FILE}", **view | {"action": "follow"})
    assert refused.status_code == 409
    assert "My line." in refused.text
    assert sorted(editor.drafts) == sorted([FILE, MOVED])


@pytest.mark.parametrize("is_pruned", [False, True])
def test_force_push_that_removes_the_page_keeps_the_text(editor: Editor, is_pruned: bool) -> None:
    repo = editor.site.repo
    empty = repo.git("hash-object", "-t", "tree", "-w", "/dev/null").decode().strip()
    orphan = repo.text(
        "-c", "user.name=Bot", "-c", "user.email=bot@mail.example.org", "commit-tree", empty, "-m", "Start again"
    )
    repo.git("update-ref", "refs/heads/main", orphan)
    if is_pruned:
        repo.git("gc", "--quiet", "--prune=now")
    shown = editor.save()
    assert "no longer part of the site" in shown
    assert "My line." in shown
    assert editor.choose("restore").endswith("done=saved")
    assert b"My line." in editor.site.repo.show(FILE)


def test_discard_of_a_removed_page_leads_to_the_project(editor: Editor) -> None:
    editor.site.repo.commit({FILE: None})
    editor.save()
    discarded = submit(editor.owner, f"{editor.base}/discard-draft/{FILE}", next="project")
    assert discarded.location == f"{editor.base}?done=draft-deleted"
    assert editor.drafts == []
    assert editor.owner.client.get(f"{editor.base}/conflict/{FILE}").status_code == 404
