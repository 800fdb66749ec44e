"""Pages that are edited in proposed changes, without scripts: proposals, saves, drafts, conflicts and ended changes."""

import html
import io
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa
from werkzeug.test import TestResponse

from app.console.project import preview
from app.console.project.change_set_texts import block_hash
from app.drivers.errors import UpstreamUnavailable
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet, ChangeSetComment, ChangeSetState
from app.models.project_content import ProjectDraft
from app.resources.change_set import actions, branches, service
from app.resources.sandbox.schemas import CreateSandboxBody
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import FILE, form_of
from tests.console.test_organizations import submit
from tests.resources.project_content.conftest import make_site
from tests.support.samples.gitrepo import GitRepo
from tests.support.world import Person, World

pytestmark = pytest.mark.one_database

NEW = {"save-to": "proposal", "change-set": "new"}
ORIGIN = {"Origin": "http://127.0.0.1:8000"}
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass
class Proposer:
    """A member at the pages of the project."""

    console: ConsoleScene
    person: Person

    @property
    def base(self) -> str:
        return f"/console/projects/{self.console.ids['project_id']}"

    @property
    def edit(self) -> str:
        return f"{self.base}/edit/{FILE}"

    @property
    def repo(self) -> GitRepo:
        return self.console.site.repo

    def form(self, url: str, name: str = "editor-form") -> dict[str, str]:
        return form_of(self.person.client.get(url), name)

    def typed(self, url: str, text: str = "My line.", line: str = "One line.") -> dict[str, str]:
        """Return the fields of the editor at a URL with a changed line."""
        sent = self.form(url)
        assert line in sent["body"]
        return sent | {"body": sent["body"].replace(line, text)}

    def propose(self, text: str = "My line.", **more: str) -> str:
        """Propose a changed line in new changes, and return the URL of the editor there."""
        sent = submit(self.person, self.edit, **self.typed(self.edit, text) | NEW | {"change-set-title": "Fog"} | more)
        assert sent.status_code == 303, sent.text
        return sent.location

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return getattr(self.person.again(), method)(path, body).ok()

    def end(self, set_id: str, *, is_published: bool = True) -> None:
        """Publish or close changes."""
        if not is_published:
            self.person.again().delete(f"/change-set/{set_id}").ok()
            return
        self.call("patch", f"/project/{self.console.ids['project_id']}", {"required_approvals": 0})
        self.call("post", f"/change-set/{set_id}/publish", None)

    def upload(self, url: str, *, field: str = "") -> dict[str, str]:
        """Store an image with a draft, as the scripts of the editor do."""
        with self.console.app.app_context():
            data = {"image": (io.BytesIO(PNG), "pier.png"), "field": field}
            stored: dict[str, str] = self.person.client.post(url, data=data, headers=ORIGIN).json
        return stored

    def draft(self, path: str, content: str) -> None:
        """Store a draft that is based on the present version of a page."""
        exists = path in self.repo.entries("main")
        base = self.repo.text("rev-parse", f"main:{path}") if exists else None
        body, url = {"content": content, "base_blob_sha": base}, f"/project-draft/{self.console.ids['project_id']}"
        self.person.again().put(url, body, query_string={"file": path}).ok()

    def sets(self) -> list[dict[str, Any]]:
        return self.person.again().get(f"/project/{self.console.ids['project_id']}/change-sets").ok()

    def text(self, branch: str, path: str = FILE) -> str:
        return self.repo.git("show", f"{branch}:{path}").decode()

    def drafts(self) -> dict[str, str]:
        """Return the texts of the drafts by branch."""
        with self.console.app.app_context():
            draft, project = ProjectDraft, self.console.ids["project_id"]
            statement = sa.select(draft.branch, draft.content).where(draft.project_id == project)
            return dict(db.session.execute(statement).all())


@pytest.fixture
def me(console: ConsoleScene) -> Proposer:
    return Proposer(console, console.site.owner)


def set_of(url: str) -> str:
    return parse_qs(urlsplit(url).query)["set"][0]


def test_page_is_proposed_and_edited_in_new_changes(me: Proposer) -> None:
    head = me.repo.head()
    assert re.search(r'name="change-set-title" value="First post"', me.person.client.get(me.edit).text)
    url = me.propose()
    [made] = me.sets()
    assert (made["title"], made["files"], set_of(url)) == ("Fog", 1, made["id"])
    assert ("My line." in me.text(made["branch"]), me.repo.head(), me.drafts()) == (True, head, {})
    shown = me.person.client.get(url).text
    for text in ("Saved in “Fog”", "You are editing “<bdi>Fog</bdi>”. Not on the site yet.", "My line."):
        assert text in shown
    assert f'href="{me.base}/changes/{made["id"]}"' in shown
    assert 'name="change-set"' not in shown
    in_set = f"{me.edit}?set={made['id']}"
    typed = me.typed(in_set, "Typed.", "My line.")
    assert submit(me.person, f"{me.base}/draft/{FILE}?set={made['id']}", **typed).status_code == 204
    assert list(me.drafts()) == [made["branch"]]
    assert ("Typed." in me.form(in_set)["body"], "One line." in me.form(me.edit)["body"]) == (True, True)
    assert "done=saved" in submit(me.person, in_set, **typed | {"fm.title": "In the set"}).location
    assert ("title: In the set" in me.text(made["branch"]), me.drafts()) == (True, {})
    assert "done=unchanged" in submit(me.person, in_set, **me.form(in_set)).location


def test_page_is_proposed_in_open_changes_and_merged_with_their_version(me: Proposer) -> None:
    set_id = set_of(me.propose())
    branch = me.sets()[0]["branch"]
    assert f'<option value="{set_id}">Fog</option>' in me.person.client.get(me.edit).text
    sent = me.typed(me.edit, "Other line.", "Another line.") | {"save-to": "proposal", "change-set": set_id}
    assert set_of(submit(me.person, me.edit, **sent).location) == set_id
    assert me.text(branch).endswith("\nMy line.\n\nOther line.\n")
    submit(me.person, f"{me.base}/draft/{FILE}", **me.typed(me.edit, "Third line."))
    sent = me.typed(me.edit, "Their line.", "Third line.") | {"save-to": "proposal", "change-set": set_id}
    stopped = submit(me.person, me.edit, **sent)
    assert stopped.location == f"{me.base}/conflict/{FILE}?set={set_id}"
    assert ("Their line." in me.drafts()[branch], list(me.drafts())) == (True, [branch])
    view = me.person.client.get(stopped.location)
    for text in ("One line.", "My line.", "Their line.", "You are editing “<bdi>Fog</bdi>”"):
        assert text in view.text
    assert submit(me.person, stopped.location, **form_of(view, "conflict-form")).location.startswith(f"{me.edit}?set=")
    assert (me.text(branch).endswith("\nTheir line.\n\nOther line.\n"), me.drafts()) == (True, {})


def test_text_with_another_draft_in_the_changes_stays_in_the_form(me: Proposer) -> None:
    set_id = set_of(me.propose())
    in_set = f"{me.edit}?set={set_id}"
    submit(me.person, f"{me.base}/draft/{FILE}?set={set_id}", **me.typed(in_set, "Typed there.", "My line."))
    sent = me.typed(me.edit, "Typed here.") | {"save-to": "proposal", "change-set": set_id}
    failed = submit(me.person, me.edit, **sent)
    assert (failed.status_code, "Typed here." in failed.text) == (409, True)
    assert "You have another draft of this page in “Fog”." in failed.text
    assert f'<option value="{set_id}" selected>' in failed.text
    assert "Typed there." in me.form(in_set)["body"]


def test_change_of_the_site_is_compared_before_new_changes_are_created(me: Proposer) -> None:
    sent = me.typed(me.edit) | NEW
    me.repo.commit({FILE: me.repo.show(FILE).replace(b"Another line.", b"Their line.")})
    conflict = submit(me.person, me.edit, **sent).location
    assert (conflict, me.sets()) == (f"{me.base}/conflict/{FILE}", [])
    fields = me.form(conflict, "conflict-form") | NEW | {"change-set-title": "Fog"}
    assert "set=" in submit(me.person, conflict, **fields).location
    [made] = me.sets()
    assert me.text(made["branch"]).endswith("\nMy line.\n\nTheir line.\n")
    assert (me.drafts(), "One line." in me.text("main")) == ({}, True)


@pytest.mark.parametrize("is_published", [True, False])
def test_text_for_ended_changes_continues_on_the_site(me: Proposer, is_published: bool) -> None:
    set_id = set_of(me.propose())
    in_set, draft = f"{me.edit}?set={set_id}", f"{me.base}/draft/{FILE}?set={set_id}"
    sent = me.typed(in_set, "Typed.", "Another line.")
    assert submit(me.person, draft, **sent).status_code == 204
    me.end(set_id, is_published=is_published)
    assert (
        submit(me.person, draft, **sent | {"body": sent["body"].replace("Typed.", "Typed later.")}).status_code == 204
    )
    assert "Typed later." in next(iter(me.drafts().values()))
    left = submit(me.person, in_set, **sent)
    assert left.location == f"{me.edit}?done=set-ended"
    assert ("Typed." in me.drafts()["main"], list(me.drafts())) == (True, ["main"])
    page = me.person.client.get(left.location).text
    assert "The changes that you edited are published or closed." in page
    if is_published:
        assert form_of(me.person.client.get(me.edit), "editor-form")["body"].endswith("My line.\r\n\r\nTyped.\r\n")
    else:
        assert "Compare the versions" in page
        assert "Typed." in me.person.client.get(f"{me.base}/conflict/{FILE}").text


def test_draft_of_ended_changes_moves_with_the_next_visit_unless_the_site_has_one(me: Proposer) -> None:
    set_id = set_of(me.propose())
    in_set = f"{me.edit}?set={set_id}"
    submit(me.person, f"{me.base}/draft/{FILE}?set={set_id}", **me.typed(in_set, "Typed there.", "Another line."))
    submit(me.person, f"{me.base}/draft/{FILE}", **me.typed(me.edit, "Typed here."))
    me.end(set_id)
    refused = me.person.client.get(in_set)
    assert (refused.status_code, "You have another draft of this page on the site." in refused.text) == (409, True)
    submit(me.person, f"{me.base}/discard-draft/{FILE}")
    assert me.person.client.get(in_set).location == f"{me.edit}?done=set-ended"
    assert "Typed there." in me.drafts()["main"]
    assert me.person.client.get(f"{me.base}/conflict/{FILE}?set={set_id}").status_code == 303


def test_refused_proposals_keep_the_text_and_create_nothing(me: Proposer, monkeypatch: pytest.MonkeyPatch) -> None:
    set_id = set_of(me.propose())
    me.end(set_id, is_published=False)
    sent = me.typed(me.edit, "Typed.")
    for chosen, message in ((set_id, "“Fog” cannot be changed any more."), ("chg_1", "These changes do not exist.")):
        failed = submit(me.person, me.edit, **sent | {"save-to": "proposal", "change-set": chosen})
        assert (failed.status_code, message in failed.text, "Typed." in failed.text) == (400, True, True)
    open_sets = {one["id"] for one in me.sets()}
    with me.console.app.app_context():
        project_id = db.session.scalar(sa.select(ChangeSet.project_id).where(ChangeSet.id == set_id))
        for number in range(service.MAX_OPEN):
            values = {"base_sha": "a" * 40, "head_sha": "a" * 40, "branch": f"galley/filled-{number}"}
            db.session.add(ChangeSet(project_id=project_id, title="Filled", **values))
        db.session.commit()
    assert "Typed." in _refused(me, sent, 403, f"A project can have at most {service.MAX_OPEN} open sets of changes")
    with me.console.app.app_context():
        db.session.execute(sa.delete(ChangeSet).where(ChangeSet.title == "Filled"))
        db.session.commit()
    with monkeypatch.context() as patch:
        patch.setattr(branches.CommitLimits, "files", 0)
        assert "Typed." in _refused(me, sent, 413, "can contain at most")
    assert {one["id"] for one in me.sets()} == open_sets
    assert set(me.repo.git("branch", "--format=%(refname:short)").decode().split()) == {"main"}


def _refused(me: Proposer, sent: dict[str, str], status: int, message: str) -> str:
    failed = submit(me.person, me.edit, **sent | NEW)
    assert (failed.status_code, message in failed.text) == (status, True)
    return failed.text


def test_save_during_a_publication_keeps_the_text(me: Proposer) -> None:
    set_id = set_of(me.propose())
    in_set = f"{me.edit}?set={set_id}"
    with me.console.app.app_context():
        db.session.execute(sa.update(ChangeSet).where(ChangeSet.id == set_id).values(state=ChangeSetState.PUBLISHING))
        db.session.commit()
    failed = submit(me.person, in_set, **me.typed(in_set, "Typed.", "My line."))
    assert (failed.status_code, "Typed." in failed.text, "“Fog” is being published." in failed.text) == (
        409,
        True,
        True,
    )


def test_new_page_is_proposed_with_its_images(me: Proposer) -> None:
    path = "content/posts/pier.md"
    sent = form_of(me.person.client.get(f"{me.base}/new?folder=content/posts"), "data-new-form")
    made = submit(me.person, f"{me.base}/new", **sent | {"title": "Pier"}).location
    stored = me.upload(f"{me.base}/images/{path}")
    fields = me.form(made) | {"body": f"![Pier]({stored['url']})"} | NEW
    assert 'value="New page: Pier"' in me.person.client.get(made).text
    assert set_of(submit(me.person, made, **fields).location) == me.sets()[0]["id"]
    branch, url = me.sets()[0]["branch"], f"{me.base}/edit/{path}?set={me.sets()[0]['id']}"
    changed = me.repo.git("diff", "--name-only", f"main..{branch}").decode().split()
    assert sorted(changed) == sorted([path, stored["path"]])
    assert (me.drafts(), me.person.client.get(f"{me.base}/edit/{path}").status_code) == ({}, 404)
    page = me.person.client.get(url).text
    media = html.unescape(re.search(r'data-media-url="([^"]*)"', page)[1])  # type: ignore[index]
    assert me.person.client.get(media + stored["path"]).data == PNG


def test_draft_images_follow_a_text_that_conflicts_in_the_changes(me: Proposer) -> None:
    set_id = set_of(me.propose())
    branch = me.sets()[0]["branch"]
    stored = me.upload(f"{me.base}/images/{FILE}")
    text = f"![Pier]({stored['url']})"
    sent = me.typed(me.edit, text) | {"save-to": "proposal", "change-set": set_id}
    conflict = submit(me.person, me.edit, **sent).location
    shown = me.person.client.get(f"{me.base}/draft-image/{FILE}?set={set_id}&url={stored['url']}")
    assert (shown.data, conflict) == (PNG, f"{me.base}/conflict/{FILE}?set={set_id}")
    submit(me.person, conflict, **me.form(conflict, "conflict-form"))
    assert text in me.text(branch)
    assert me.repo.git("show", f"{branch}:{stored['path']}") == PNG


def test_image_with_the_name_of_one_in_the_changes_stays_with_its_draft(me: Proposer) -> None:
    set_id = set_of(me.propose())
    urls = [me.upload(f"{me.base}/images/{path}?set={set_id}" if path else f"{me.base}/images/{FILE}")["url"]
            for path in ("content/posts/second.md", "")]  # fmt: skip
    sent = me.typed(me.edit, f"![Pier]({urls[1]})") | {"save-to": "proposal", "change-set": set_id}
    failed = submit(me.person, me.edit, **sent)
    assert (failed.status_code, "Another draft has an image “pier.png”." in failed.text) == (409, True)
    assert f"![Pier]({urls[1]})" in failed.text
    assert me.person.client.get(f"{me.base}/draft-image/{FILE}?url={urls[1]}").data == PNG


def test_image_field_shows_an_image_that_only_the_changes_contain(me: Proposer) -> None:
    schema = "collections: [{name: posts, folder: content/posts, fields: [{name: cover, type: image}]}]\n"
    me.repo.commit({".galley.yml": schema.encode()})
    me.person.again().post(me.console.site.path("/reindex")).ok(202)
    me.console.site.world.work_off()
    url = me.upload(f"{me.base}/images/{FILE}", field="fm.cover")["url"]
    in_set = submit(me.person, me.edit, **me.form(me.edit) | {"fm.cover": url} | NEW).location
    picture = re.search(r'image-field__picture" data-image-picture src="([^"]+)"', me.person.client.get(in_set).text)
    assert picture is not None
    assert me.person.client.get(html.unescape(picture[1])).data == PNG


def test_uploaded_image_is_proposed(me: Proposer) -> None:
    fields = {"base_sha": me.repo.head(), "folder": "static"} | NEW | {"change-set-title": "Pictures"}
    with me.console.app.app_context():
        data = fields | {"file": (io.BytesIO(PNG), "quay.png")}
        sent = me.person.client.post(f"{me.base}/media", data=data, headers=ORIGIN)
    [made] = me.sets()
    assert (sent.location, made["title"]) == (f"{me.base}/changes/{made['id']}?done=proposed", "Pictures")
    assert me.repo.git("show", f"{made['branch']}:static/quay.png") == PNG


def test_draft_of_a_page_that_was_deleted_on_the_site_is_proposed(me: Proposer) -> None:
    submit(me.person, f"{me.base}/draft/{FILE}", **me.typed(me.edit, "Typed."))
    me.repo.commit({FILE: None})
    removed = me.person.client.get(f"{me.base}/conflict/{FILE}")
    fields = form_of(removed, "removed-form") | {"action": "restore", "change-set": "new"}
    in_set = submit(me.person, f"{me.base}/removed/{FILE}", **fields).location
    assert in_set == f"{me.edit}?set={me.sets()[0]['id']}&done=saved"
    assert ("Typed." in me.text(me.sets()[0]["branch"]), me.drafts()) == (True, {})


def test_new_page_in_ended_changes_is_a_draft_of_the_site(me: Proposer) -> None:
    set_id = set_of(me.propose())
    sent = form_of(me.person.client.get(f"{me.base}/new?folder=content/posts"), "data-new-form")
    made = submit(me.person, f"{me.base}/new", **sent | {"title": "Pier"}).location
    typed = me.form(made) | {"body": "Typed."}
    me.end(set_id)
    in_set = made.replace("/edit/", "/draft/") + f"?set={set_id}"
    submit(me.person, made.replace("/edit/", "/discard-draft/"))
    assert submit(me.person, in_set, **typed).status_code == 204
    left = submit(me.person, f"{made}?set={set_id}", **typed)
    assert left.location == f"{made}?done=set-ended"
    assert "Typed." in me.form(made)["body"]


def test_preview_of_a_page_starts_with_the_files_of_its_changes(me: Proposer, monkeypatch: pytest.MonkeyPatch) -> None:
    in_set = me.propose().partition("&")[0]
    started = list[str | None]()

    def connect(_project: object, _user: object, body: CreateSandboxBody, **_: object) -> None:
        started.append(body.branch)

    monkeypatch.setattr(preview.actions, "connect", connect)
    for url in (in_set, me.edit):
        fields = form_of(me.person.client.get(url), f'action="{me.base}/preview')
        query = urlsplit(url).query
        submit(me.person, f"{me.base}/preview?{query}", **fields)
    assert started == [me.sets()[0]["branch"], None]
    with me.console.app.app_context():
        page = me.person.client.get(f"{in_set}&panel=preview").text
    assert f'data-branch="{me.sets()[0]["branch"]}"' in page


def test_lists_and_editor_link_open_changes_of_a_page(me: Proposer) -> None:
    set_id = set_of(me.propose())
    link = f'href="{me.edit}?set={set_id}">Also changed in “Fog”</a>'
    posts = me.person.client.get(f"{me.base}/collections").location
    lists = [posts, f"{posts}?view=grid", f"{me.base}/content/content/posts"]
    for url in (*lists, me.edit):
        assert me.person.client.get(url).text.count(link) == 1
    for url in (f"{me.edit}?set={set_id}", f"{me.base}/edit/content/posts/second.md"):
        assert "Also changed" not in me.person.client.get(url).text
    [made] = me.sets()
    me.repo.commit({FILE: me.repo.show(FILE), "content/posts/second.md": b"Pushed.\n"}, branch=made["branch"])
    me.call("post", f"/change-set/{set_id}/submit", None)
    assert "Also changed" in me.person.client.get(f"{me.base}/edit/content/posts/second.md").text
    assert link not in me.person.client.get(me.edit).text
    me.end(set_id, is_published=False)
    assert "Also changed" not in me.person.client.get(f"{me.base}/edit/content/posts/second.md").text


class TestRequiredProposals:
    @pytest.fixture(autouse=True)
    def required(self, me: Proposer) -> None:
        me.call("patch", f"/project/{me.console.ids['project_id']}", {"require_change_sets": True})

    def test_editor_offers_only_proposals_and_explains_a_refused_save(self, me: Proposer) -> None:
        page = me.person.client.get(me.edit).text
        assert not re.search(r'<button class="button button--primary" type="submit" form="editor-form">', page)
        failed = submit(me.person, me.edit, **me.typed(me.edit))
        assert (failed.status_code, "My line." in failed.text) == (403, True)
        assert "This project only accepts proposed changes. Select “Propose”." in failed.text
        assert "set=" in me.propose()

    def test_deletion_and_renaming_are_proposed(self, me: Proposer) -> None:
        sent = me.form(me.edit, f"{me.base}/delete/") | {"change-set": "new", "change-set-title": "Remove it"}
        assert submit(me.person, f"{me.base}/delete/{FILE}", **sent | {"save-to": ""}).status_code == 403
        deleted = submit(me.person, f"{me.base}/delete/{FILE}", **sent)
        sent = me.form(me.edit, f"{me.base}/rename/") | {"change-set": "new", "new_path": "moved"}
        renamed = submit(me.person, f"{me.base}/rename/{FILE}", **sent)
        moved, removed = me.sets()
        assert deleted.location == f"{me.base}/changes/{removed['id']}?done=proposed"
        assert renamed.location == f"{me.base}/edit/content/posts/moved.md?set={moved['id']}&done=saved"
        assert [one["title"] for one in (removed, moved)] == ["Remove it", "Rename “First post”"]
        assert me.repo.git("diff", "--name-status", f"main..{removed['branch']}").decode() == f"D\t{FILE}\n"

    def test_earlier_version_is_proposed(self, me: Proposer) -> None:
        first = me.repo.head()
        before = me.repo.show(FILE)
        me.repo.commit({FILE: before.replace(b"One line.", b"New line.")})
        page = me.person.client.get(f"{me.base}/history/{FILE}").text
        assert "Propose this version" in page
        fields = {"commit_sha": first, "base_sha": me.repo.head()}
        sent = submit(me.person, f"{me.base}/restore/{FILE}", **fields)
        [made] = me.sets()
        assert sent.location == f"{me.base}/changes/{made['id']}?done=proposed"
        assert me.text(made["branch"]) == before.decode()
        assert submit(me.person, f"{me.base}/restore/{FILE}", **fields | {"commit_sha": "0" * 40}).status_code == 404
        again = submit(me.person, f"{me.base}/restore/{FILE}", **fields | {"commit_sha": me.repo.head()})
        assert again.location.endswith("done=unchanged")

    def test_selected_files_are_changed_by_new_changes(self, me: Proposer) -> None:
        folder, fields = "content/posts", {"folder": "content/posts", "base_sha": me.repo.head()}
        assert "Actions on selected files propose changes." in me.person.client.get(f"{me.base}/content/{folder}").text
        selected = {"select": [FILE, "content/posts/second.md"]}
        unchanged = submit(me.person, f"{me.base}/bulk-state", **fields, select=[FILE], state="draft")
        assert ("done=unchanged" in unchanged.location, me.sets()) == (True, [])
        for name, more in (("delete", {}), ("move", {"target": "content"}), ("state", {"state": "published"})):
            done = submit(me.person, f"{me.base}/bulk-{name}", **fields | selected | more)
            assert done.location == f"{me.base}/changes/{me.sets()[0]['id']}?done=proposed"
        assert [one["title"] for one in me.sets()] == [
            "Publish 2 pages", "Move 2 files to content", "Delete 2 files"
        ]  # fmt: skip
        many = submit(me.person, f"{me.base}/bulk-delete", **fields, select=[f"{number}.md" for number in range(301)])
        assert (many.status_code, "Select at most 300 files." in many.text, len(me.sets())) == (400, True, 3)


def test_editors_propose_where_only_admins_publish(me: Proposer) -> None:
    me.call("patch", f"/project/{me.console.ids['project_id']}", {"publishers": "admins"})
    save = '<button class="button button--primary" type="submit" form="editor-form">Save'
    pages = {name: me.console.send(name, "GET", me.edit).text for name in ("editor", "admin")}
    assert {name: save in page for name, page in pages.items()} == {"editor": False, "admin": True}


def test_changes_of_another_project_are_not_found(me: Proposer, world: World) -> None:
    other = make_site(world, {"a.md": b"A.\n"})
    made = other.owner.post(f"/project/{other.project}/change-sets", {"title": "Other"}).ok(201)
    for url in (f"{me.edit}?set={made['id']}", f"{me.edit}?set=chg_1", f"{me.base}/conflict/{FILE}?set={made['id']}"):
        assert me.person.client.get(url).status_code == 404
    sent = me.typed(me.edit) | {"save-to": "proposal", "change-set": made["id"]}
    assert submit(me.person, me.edit, **sent).status_code == 400


def test_proposal_is_the_request_and_the_next_one_is_added_to_it(me: Proposer) -> None:
    reviewer = me.console.people["admin"]
    assert isinstance(reviewer, Person)
    more = {"save-to": "review", "reviewers": reviewer.id, "review-message": "Are the words right?"}
    url = me.propose(**more)
    [made] = me.sets()
    assert "done=proposed" in url
    assert (made["state"], [one["id"] for one in made["reviewers"]]) == ("in_review", [reviewer.id])
    page = me.person.client.get(me.edit).text
    assert f'<option value="{made["id"]}" selected>' in page
    assert re.search(rf'name="reviewers" value="{reviewer.id}"[^>]* checked', page)
    other = f"{me.base}/edit/content/posts/second.md"
    sent = me.form(other) | {"body": "Other words.\n", "add-to": made["id"]}
    assert "done=saved" in submit(me.person, other, **sent).location
    assert [(one["state"], one["files"]) for one in me.sets()] == [("in_review", 2)]


def test_refused_reviewer_keeps_the_text_and_creates_nothing(me: Proposer) -> None:
    sent = me.typed(me.edit) | NEW | {"save-to": "review", "reviewers": me.person.id}
    refused = submit(me.person, me.edit, **sent)
    assert (refused.status_code, "My line." in refused.text, me.sets()) == (400, True, [])


def test_refused_reviewer_of_an_existing_set_saves_nothing(me: Proposer) -> None:
    me.propose()
    [made] = me.sets()
    sent = me.form(f"{me.base}/edit/content/posts/second.md") | {"body": "Other words.\n", "save-to": "review"}
    refused = submit(
        me.person,
        f"{me.base}/edit/content/posts/second.md",
        **sent | {"change-set": made["id"], "reviewers": me.person.id},
    )
    assert (refused.status_code, "Other words." in refused.text) == (400, True)
    assert [one["files"] for one in me.sets()] == [1]


def test_save_stays_if_the_request_of_the_review_fails(me: Proposer, monkeypatch: pytest.MonkeyPatch) -> None:
    def submit_set(*_arguments: object, **_options: object) -> None:
        raise UpstreamUnavailable("The Git host is unreachable")

    monkeypatch.setattr(actions, "submit", submit_set)
    location = me.propose(**{"save-to": "review"})
    assert "done=saved" in location
    assert [(one["state"], one["files"]) for one in me.sets()] == [("draft", 1)]


class TestAllDrafts:
    """The proposal of all drafts on the first page of a project."""

    @pytest.fixture(autouse=True)
    def drafts(self, me: Proposer) -> None:
        me.console.site.world.work_off()
        me.draft(FILE, me.text("main").replace("One line.", "My line."))
        me.draft("content/posts/new.md", "---\ntitle: New\n---\n\nNew.\n")

    def propose(self, me: Proposer, **fields: str) -> TestResponse:
        assert "Propose all my drafts" in me.person.client.get(me.base).text
        return submit(me.person, f"{me.base}/propose-drafts", **{"save-to": "review", "change-set": "new"} | fields)

    def test_all_drafts_are_one_commit_of_a_set_in_review(self, me: Proposer) -> None:
        sent = self.propose(me, **{"change-set-title": "Summer"})
        [made] = me.sets()
        assert (made["title"], made["files"], made["state"]) == ("Summer", 2, "in_review")
        assert sent.location.endswith(f"/changes/{made['id']}?done=proposed")
        assert "My line." in me.text(made["branch"])
        assert len(me.repo.text("rev-list", f"main..{made['branch']}").split()) == 1
        assert me.drafts() == {}

    def test_draft_that_conflicts_stays_and_is_named(self, me: Proposer) -> None:
        me.repo.commit({FILE: me.text("main").replace("One line.", "Their line.").encode()})
        sent = self.propose(me)
        [made] = me.sets()
        assert (made["files"], next(iter(me.drafts().values())).count("My line.")) == (1, 1)
        assert "lists_drafts=1" in sent.location
        assert f'href="{me.edit}"' in me.person.client.get(sent.location).text

    def test_new_page_without_a_required_value_stays_and_is_named(self, me: Proposer) -> None:
        fields = b"[{name: title}, {name: kind, type: string, required: true}]"
        me.repo.commit(
            {".galley.yml": b"collections:\n  - {name: posts, folder: content/posts, fields: %b}\n" % fields}
        )
        me.console.site.owner.post(me.console.site.path("/reindex")).ok(202)
        me.console.site.world.work_off()
        sent = self.propose(me)
        [made] = me.sets()
        assert (made["files"], next(iter(me.drafts().values())).count("title: New")) == (1, 1)
        assert "/edit/content/posts/new.md" in me.person.client.get(sent.location).text

    def test_drafts_that_all_conflict_create_no_set(self, me: Proposer) -> None:
        me.repo.commit({FILE: b"Theirs\n", "content/posts/new.md": b"Theirs\n"})
        refused = self.propose(me)
        assert "No draft can be proposed." in refused.text
        assert me.sets() == []
        assert submit(me.person, f"{me.base}/propose-drafts").status_code == 400
        assert "My line." not in me.text("main")


class TestReviewInTheEditor:
    """Comments on the page, replies, and the request for a review, in the editor of a page of a set."""

    @pytest.fixture
    def reviewer(self, me: Proposer) -> Person:
        person = me.console.people["admin"]
        assert isinstance(person, Person)
        return person

    @pytest.fixture
    def set_id(self, me: Proposer) -> str:
        return set_of(me.propose())

    def comment(self, reviewer: Person, set_id: str, **more: Any) -> str:
        comment = reviewer.again().post(f"/change-set/{set_id}/comments", {"body": "Look", "path": FILE} | more)
        return str(comment.ok(201)["id"])

    def answer(self, me: Proposer, set_id: str, command: str, **more: str) -> Any:
        url = f"{me.edit}?set={set_id}"
        return submit(me.person, url, **me.form(url) | {"body": "Typed.\n", "list-action": command} | more)

    def test_last_text_of_the_reviewer_and_comments_on_the_page_are_shown(
        self, me: Proposer, reviewer: Person, set_id: str
    ) -> None:
        url = f"{me.edit}?set={set_id}"
        assert "editor__review" not in (before := me.person.client.get(url).text)
        assert "editor__comments" not in before
        parts: tuple[dict[str, Any], ...] = (
            {},
            {"pointer": "/title"},
            {"block": block_hash("My line.")},
            {"block": "a" * 64},
            {"path": "content/posts/second.md"},
            {"path": None},
        )
        ids = [self.comment(reviewer, set_id, **part) for part in parts]
        page = me.person.client.get(url).text
        shown = re.findall(
            r'<li class="comment" id="(\w+)".*?<span class="muted small">(?:<bdi>(.*?)</bdi>)?', page, re.DOTALL
        )
        labels = ["", "Title", "“My line.”", "A paragraph that has changed since"]
        assert shown == list(zip(ids[:4], labels, strict=True))
        assert "Look" in page.partition("editor__review")[2].partition('id="editor-form"')[0]
        me.call("post", f"/change-set/{set_id}/submit")
        changes = {"verdict": "changes", "body": "Shorter, please."}
        reviewer.again().post(f"/change-set/{set_id}/reviews", changes).ok(201)
        self.comment(reviewer, set_id, path=None, body="And thanks")
        notice = me.person.client.get(url).text.partition("editor__review")[2].partition('id="editor-form"')[0]
        assert ("Shorter, please." in notice, "Changes requested" in notice) == (True, True)

    def test_page_with_many_comments_shows_the_last_open_ones_and_is_saved(
        self, me: Proposer, reviewer: Person, set_id: str
    ) -> None:
        first, url = self.comment(reviewer, set_id), f"{me.edit}?set={set_id}"
        with me.console.app.app_context():
            resolved = [{"resolved_at": utcnow_ms()} if number % 2 else {} for number in range(998)]
            rows = [ChangeSetComment(change_set_id=set_id, body="Look", path=FILE, **more) for more in resolved]
            db.session.add_all(rows)
            db.session.commit()
        page = me.person.client.get(url)
        assert "and 899 more" in page.text
        assert "Open again" not in page.text
        assert first not in page.text
        assert "done=saved" in submit(me.person, url, **form_of(page, "editor-form") | {"body": "Typed.\n"}).location

    def test_reply_and_resolution_keep_the_typed_text(self, me: Proposer, reviewer: Person, set_id: str) -> None:
        first, second = (self.comment(reviewer, set_id, pointer=pointer) for pointer in ("/title", None))
        other = f"reply-{second}"
        page = self.answer(me, set_id, f"reply {first}", **{f"reply-{first}": " Done. ", other: "Later"})
        assert (page.status_code, "Typed." in page.text, "Done." in page.text) == (200, True, True)
        assert form_of(page, "editor-form")[other] == "Later"
        assert form_of(page, "editor-form")[f"reply-{first}"] == ""
        comments = me.person.again().get(f"/change-set/{set_id}/comments").ok()
        assert [(one["body"], one["pointer"], one["path"]) for one in comments][2:] == [("Done.", "/title", FILE)]
        page = self.answer(me, set_id, f"resolve {second}", **{other: "Later"})
        assert (page.status_code, form_of(page, "editor-form")[other]) == (200, "Later")
        assert me.sets()[0]["unresolved_comments"] == 2
        self.answer(me, set_id, f"reopen {second}")
        assert me.sets()[0]["unresolved_comments"] == 3
        assert "Typed." in next(iter(me.drafts().values()))

    @pytest.mark.parametrize("verb", ["reply", "resolve", "reopen"])
    def test_answer_of_another_tab_keeps_the_stored_draft(
        self, me: Proposer, reviewer: Person, set_id: str, verb: str
    ) -> None:
        comment, url = self.comment(reviewer, set_id), f"{me.edit}?set={set_id}"
        other = me.form(url)
        answer = {"list-action": f"{verb} {comment}", f"reply-{comment}": "Done."}
        submit(me.person, f"{me.base}/draft/{FILE}?set={set_id}", **me.typed(url, "Typed here.", "My line."))
        older = me.form(url)
        assert submit(me.person, url, **other | answer).status_code == 200
        assert "Typed here." in next(iter(me.drafts().values()))
        newer = me.typed(url, "Newer.", "Typed here.")
        submit(me.person, f"{me.base}/draft/{FILE}?set={set_id}", **newer)
        assert submit(me.person, url, **older | answer | {"is-stored": "1"}).status_code == 200
        assert "Newer." in next(iter(me.drafts().values()))

    def test_save_without_a_change_keeps_the_draft_of_another_tab(self, me: Proposer, set_id: str) -> None:
        url = f"{me.edit}?set={set_id}"
        other = me.form(url)
        submit(me.person, f"{me.base}/draft/{FILE}?set={set_id}", **me.typed(url, "Typed here.", "My line."))
        assert "done=unchanged" in submit(me.person, url, **other | {"is-stored": "1"}).location
        assert "Typed here." in next(iter(me.drafts().values()))
        submit(me.person, url, **other)
        assert me.drafts() == {}

    def bodies(self, me: Proposer, set_id: str) -> list[str]:
        return [str(one["body"]) for one in me.person.again().get(f"/change-set/{set_id}/comments").ok()]

    @pytest.mark.parametrize("save_to", ["", "review"])
    @pytest.mark.parametrize("text", ["My line.", "Mine."])
    def test_save_sends_the_replies(self, me: Proposer, reviewer: Person, set_id: str, save_to: str, text: str) -> None:
        first, second, third = (
            self.comment(reviewer, set_id, pointer=pointer) for pointer in (None, "/title", "/date")
        )
        url = f"{me.edit}?set={set_id}"
        replies = {f"reply-{first}": " One\r\n more. ", f"reply-{second}": "Two.", f"reply-{third}": " "}
        sent = me.typed(url, text, "My line.") | replies | {"save-to": save_to, "reviewers": reviewer.id}
        done = parse_qs(urlsplit(submit(me.person, url, **sent).location).query)["done"]
        assert done == ["proposed" if save_to else "saved" if text == "Mine." else "replied"]
        assert self.bodies(me, set_id)[3:] == ["One\n more.", "Two."]
        assert text in me.text(me.sets()[0]["branch"])

    def test_replies_are_sent_if_the_save_has_a_conflict(self, me: Proposer, reviewer: Person, set_id: str) -> None:
        comment, url = self.comment(reviewer, set_id), f"{me.edit}?set={set_id}"
        first, second = me.typed(url, "Mine.", "My line."), me.typed(url, "Theirs.", "My line.")
        submit(me.person, url, **first)
        assert "/conflict/" in submit(me.person, url, **second | {f"reply-{comment}": "Done."}).location
        assert self.bodies(me, set_id) == ["Look", "Done."]

    @pytest.mark.parametrize("command", ["", "reply"])
    def test_replies_are_sent_if_the_set_has_ended(
        self, me: Proposer, reviewer: Person, set_id: str, command: str
    ) -> None:
        comment, url = self.comment(reviewer, set_id), f"{me.edit}?set={set_id}"
        sent = me.form(url) | {f"reply-{comment}": "Done."} | ({"list-action": f"reply {comment}"} if command else {})
        me.end(set_id, is_published=False)
        assert "done=set-ended" in submit(me.person, url, **sent).location
        assert self.bodies(me, set_id) == ["Look", "Done."]

    @pytest.mark.parametrize("command", ["", "reply"])
    def test_reply_that_is_too_long_is_shown_again_and_nothing_is_saved(
        self, me: Proposer, reviewer: Person, set_id: str, command: str
    ) -> None:
        comment, url = self.comment(reviewer, set_id), f"{me.edit}?set={set_id}"
        name, long = f"reply-{comment}", "x" * 10_001
        sent = me.typed(url, "Mine.", "My line.") | {name: long}
        shown = submit(me.person, url, **sent | ({"list-action": f"reply {comment}"} if command else {}))
        assert (shown.status_code, form_of(shown, "editor-form")[name], "Mine." in shown.text) == (400, long, True)
        assert re.search(rf'id="{name}"[^>]*aria-invalid="true"', shown.text)
        assert ("Mine." in me.text(me.sets()[0]["branch"]), self.bodies(me, set_id)) == (False, ["Look"])

    def test_refused_save_keeps_the_text_and_has_sent_the_reply(
        self, me: Proposer, reviewer: Person, set_id: str
    ) -> None:
        comment, url = self.comment(reviewer, set_id), f"{me.edit}?set={set_id}"
        ask = {"save-to": "review", "reviewers": me.person.id, f"reply-{comment}": "Done."}
        refused = submit(me.person, url, **me.typed(url, "Mine.", "My line.") | ask)
        assert (refused.status_code, "Mine." in refused.text) == (400, True)
        assert form_of(refused, "editor-form")[f"reply-{comment}"] == ""
        assert self.bodies(me, set_id) == ["Look", "Done."]

    def test_reply_above_the_limit_is_shown_again_and_nothing_is_saved(
        self, me: Proposer, reviewer: Person, set_id: str
    ) -> None:
        comment, url = self.comment(reviewer, set_id), f"{me.edit}?set={set_id}"
        with me.console.app.app_context():
            rows = [ChangeSetComment(change_set_id=set_id, body="Look") for _ in range(actions.MAX_COMMENTS - 1)]
            db.session.add_all(rows)
            db.session.commit()
        sent = me.typed(url, "Mine.", "My line.") | {f"reply-{comment}": "Done."}
        refused = submit(me.person, url, **sent)
        shown = form_of(refused, "editor-form")
        assert (refused.status_code, shown[f"reply-{comment}"], "Mine." in shown["body"]) == (403, "Done.", True)
        assert "Mine." not in me.text(me.sets()[0]["branch"])

    def test_repeated_form_stores_a_reply_once(self, me: Proposer, reviewer: Person, set_id: str) -> None:
        comment, other = (self.comment(reviewer, set_id, pointer=pointer) for pointer in (None, "/title"))
        for target in (comment, comment, other):
            self.answer(me, set_id, f"reply {target}", **{f"reply-{target}": "Done."})
        assert self.bodies(me, set_id) == ["Look", "Look", "Done.", "Done."]

    def test_comments_follow_the_renames_of_their_page(self, me: Proposer, reviewer: Person, set_id: str) -> None:
        self.comment(reviewer, set_id)
        self.comment(reviewer, set_id, path="content/posts/second.md")
        path = FILE
        for name in ("moved", "again"):
            url = f"{me.base}/edit/{path}?set={set_id}"
            sent = me.form(url, f"{me.base}/rename/") | {"new_path": name}
            path = f"content/posts/{name}.md"
            assert path in submit(me.person, f"{me.base}/rename/{url.partition('/edit/')[2]}", **sent).location
            assert "editor__comments" in me.person.client.get(f"{me.base}/edit/{path}?set={set_id}").text
        comments = me.person.again().get(f"/change-set/{set_id}/comments").ok()
        assert [one["path"] for one in comments] == [path, "content/posts/second.md"]

    def test_refused_reply_keeps_the_typed_text(self, me: Proposer, reviewer: Person, set_id: str) -> None:
        comment = self.comment(reviewer, set_id)
        empty = self.answer(me, set_id, f"reply {comment}")
        assert (empty.status_code, "Write a reply." in empty.text, "Typed." in empty.text) == (400, True, True)
        other = (
            me.person.again().post(f"/project/{me.console.ids['project_id']}/change-sets", {"title": "Other"}).ok(201)
        )
        foreign = self.comment(reviewer, other["id"])
        for command in (f"reply {foreign}", f"resolve {foreign}"):
            failed = self.answer(me, set_id, command, **{f"reply-{foreign}": "Mine"})
            assert (failed.status_code, "Typed." in failed.text) == (404, True)
        assert other["id"] in {one["id"] for one in me.sets() if one["unresolved_comments"] == 1}

    def test_review_is_requested_from_the_editor_with_and_without_a_change(
        self, me: Proposer, reviewer: Person, set_id: str
    ) -> None:
        url, ask = (
            f"{me.edit}?set={set_id}",
            {"save-to": "review", "reviewers": reviewer.id, "review-message": "Please"},
        )
        assert 'form="editor-form" name="save-to" value="review"' in me.person.client.get(url).text
        refused = submit(me.person, url, **me.form(url) | ask | {"reviewers": me.person.id})
        assert (refused.status_code, me.sets()[0]["state"]) == (400, "draft")
        assert "done=proposed" in submit(me.person, url, **me.form(url) | ask).location
        assert (me.sets()[0]["state"], [one["id"] for one in me.sets()[0]["reviewers"]]) == ("in_review", [reviewer.id])
        assert 'name="save-to" value="review"' not in me.person.client.get(url).text
        reviewer.again().post(f"/change-set/{set_id}/reviews", {"verdict": "changes", "body": "Shorter"}).ok(201)
        sent = submit(me.person, url, **me.typed(url, "Mine.", "My line.") | ask)
        assert "done=proposed" in sent.location
        assert (me.sets()[0]["state"], "Mine." in me.text(me.sets()[0]["branch"])) == ("in_review", True)
