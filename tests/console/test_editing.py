"""Tests of the editor without scripts: pages, fields, drafts, conflicts, renaming and deletion."""

import html
import io
import re
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from werkzeug.test import TestResponse

from app.extensions import db
from app.models.project import Project
from app.models.project_content import ProjectDraft
from tests.console.conftest import ConsoleScene
from tests.console.test_organizations import submit
from tests.resources.project_content.conftest import Site

FILE = "content/posts/first.md"
WHOLE_PATH = {"path_start": "", "path_end": ""}
"""Fields of a form that names a complete path, as in the developer view."""


def form_of(response: TestResponse, action: str) -> dict[str, str]:
    """Return the fields of the form whose action contains a text, as a browser would send them."""
    page = next(form for form in re.findall(r"<form.*?</form>", response.text, re.DOTALL) if action in form)
    fields = {}
    for tag in re.findall(r"<input[^>]*>", page):
        names = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" in names and (names.get("type") not in ("checkbox", "radio") or " checked" in tag):
            fields[names["name"]] = html.unescape(names.get("value", ""))
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', page, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options) or re.search(r'value="([^"]*)"', options)
        fields[name] = html.unescape(chosen[1]) if chosen is not None else ""
    for name, text in re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL):
        fields[name] = html.unescape(text).replace("\n", "\r\n")
    return fields


def diff(site: Site) -> list[str]:
    """Return the changed lines of the last commit."""
    lines = site.repo.git("show", "--format=", "-U0", "main").decode().splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


@pytest.mark.one_database
def test_folder_lists_titles_and_a_new_page_is_created_by_the_first_save(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner = site.owner
    listed = owner.client.get(f"{base}/content/content/posts").text
    assert f'href="{base}/edit/{FILE}">First post</a>' in listed
    assert ">draft</span>" in listed
    assert 'href="/console' in owner.client.get(f"{base}/content/").text
    assert "second.md" in owner.client.get(f"{base}/content/content?view=tree&sort=title&q=second").text
    sent = form_of(owner.client.get(f"{base}/new?folder=content/posts"), "data-new-form")
    head = site.repo.head()
    made = submit(owner, f"{base}/new", **sent | {"title": "Fog & Räder"})
    assert urlsplit(made.location).path == f"{base}/edit/content/posts/fog-r%C3%A4der.md"
    editor = owner.client.get(made.location)
    assert "\nFog &amp; Räder</textarea>" in editor.text
    assert site.repo.head() == head
    saved = submit(owner, made.location, **form_of(editor, "editor-form"))
    assert "done=saved" in saved.location
    assert "title: Fog & Räder" in site.repo.git("show", "main:content/posts/fog-räder.md").decode()
    again = submit(owner, f"{base}/new", **sent | {"title": "Fog & Räder"})
    assert again.status_code == 400
    assert 'id="name-error"' in again.text
    assert 'value="Fog &amp; Räder"' in again.text


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("generator", "is_mdx"), [("docusaurus", True), ("nextjs", True), ("hugo", False), (None, False)]
)
def test_markdown_is_read_as_the_generator_reads_it(console: ConsoleScene, generator: str | None, is_mdx: bool) -> None:
    url = f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    with console.app.app_context():
        db.session.execute(sa.update(Project).values(generator=generator))
        db.session.commit()
    assert (" data-mdx" in console.site.owner.client.get(url).text) is is_mdx


@pytest.mark.one_database
def test_save_changes_only_the_edited_lines(console: ConsoleScene) -> None:
    site, url = console.site, f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    owner, head = site.owner, site.repo.head()
    sent = form_of(owner.client.get(url), "editor-form")
    assert submit(owner, url, **sent).location.endswith("done=unchanged")
    assert site.repo.head() == head
    edited = sent | {
        "fm.title": "New: title",
        "fm.tags": "a\r\nb\r\nc",
        "body": sent["body"].replace("Another", "Other"),
    }
    edited.pop("fm.draft")
    assert "done=saved" in submit(owner, url, **edited).location
    assert diff(site) == [
        "-title: First post", '+title: "New: title"', "-draft: true", "-tags: [a, b]", "+draft: false",
        "+tags: [a, b, c]", "-Another line.", "+Other line.",
    ] or diff(site)[-2:] == ["-Another line.", "+Other line."]  # fmt: skip
    assert len(diff(site)) == 8


@pytest.mark.one_database
def test_conflict_keeps_the_text_and_merges_the_choice(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner, url = site.owner, f"{base}/edit/{FILE}"
    sent = form_of(owner.client.get(url), "editor-form")
    site.repo.commit({FILE: site.repo.show(FILE).replace(b"One line.", b"Their line.")})
    stopped = submit(owner, url, **sent | {"body": sent["body"].replace("One line.", "My line.")})
    assert stopped.location == f"{base}/conflict/{FILE}"
    view = owner.client.get(stopped.location)
    assert view.status_code == 200
    for text in ("One line.", "My line.", "Their line."):
        assert text in view.text
    fields = form_of(view, "conflict-form")
    final = fields | {"body": fields["body"].replace("My line.", "Our line.")}
    assert "done=saved" in submit(owner, stopped.location, **final).location
    assert diff(site) == ["-Their line.", "+Our line."]
    assert owner.client.get(stopped.location).status_code == 303


@pytest.mark.one_database
def test_conflict_shows_pictures_and_new_words_of_fields(console: ConsoleScene) -> None:
    site, url = console.site, f"/console/projects/{console.ids['project_id']}/edit/{FILE}"
    text = b"---\ncover: /a.png\nintro: The pier is open today\n---\nText.\n"
    site.repo.commit({FILE: text})
    sent = form_of(site.owner.client.get(url), "editor-form")
    theirs = text.replace(b"/a.png", b"/picture.png").replace(b"open", b"empty")
    site.repo.commit({FILE: theirs})
    mine = {
        name: value.replace("/a.png", "/none.png").replace("open", "closed")
        for name, value in sent.items()
        if isinstance(value, str)
    }
    stopped = submit(site.owner, url, **sent | mine)
    assert stopped.location.endswith(f"/conflict/{FILE}")
    view = site.owner.client.get(stopped.location).text
    pictures = re.findall(r'compare__picture" src="[^"]*file=([^"]*)" alt="([^"]*)"', view)
    assert pictures == [("static/picture.png", "Ada Author: Cover")]
    added = '<bdi class="visually-hidden">added: </bdi><ins>'
    assert f"The pier is {added}closed</ins> today" in view
    assert f"The pier is {added}empty</ins> today" in view


@pytest.mark.one_database
def test_form_that_is_sent_twice_is_saved_once(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    url = f"{base}/edit/{FILE}"
    sent = form_of(site.owner.client.get(url), "editor-form")
    sent["body"] = sent["body"].replace("One line.", "My line.")
    first, head = submit(site.owner, url, **sent).location, site.repo.head()
    assert submit(site.owner, url, **sent).location == first
    assert (site.repo.head(), "You see your draft." in site.owner.client.get(url).text) == (head, False)
    stopped = submit(site.owner, url, **sent | {"body": sent["body"].replace("My line.", "Another line.")})
    assert stopped.location == f"{base}/conflict/{FILE}"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("side", "expected"),
    [("mine", "My line.\n"), ("theirs", "Their line.\n"), ("both", "My line.\nTheir line.\n")],
)
def test_chosen_side_is_shown_and_saved(console: ConsoleScene, side: str, expected: str) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner, url = site.owner, f"{base}/edit/{FILE}"
    sent = form_of(owner.client.get(url), "editor-form")
    site.repo.commit({FILE: site.repo.show(FILE).replace(b"One line.", b"Their line.")})
    conflict = submit(owner, url, **sent | {"body": sent["body"].replace("One line.", "My line.")}).location
    fields = form_of(owner.client.get(conflict), "conflict-form")
    fields["body"] = fields["body"].replace("Another line.", "Corrected.")
    chosen = submit(owner, conflict, **fields | {"choose": f"0:{side}"})
    assert chosen.status_code == 200
    fields = form_of(chosen, "conflict-form")
    assert fields["part-0"] == side
    assert "Corrected." in fields["body"]
    assert "done=saved" in submit(owner, conflict, **fields).location
    assert site.repo.show(FILE).decode() == fields["body"].replace("\r\n", "\n")
    assert site.repo.show(FILE).decode().endswith(f"{expected}\nCorrected.\n")


@pytest.mark.one_database
def test_changes_of_different_parts_are_saved_by_one_button(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner, url = site.owner, f"{base}/edit/{FILE}"
    sent = form_of(owner.client.get(url), "editor-form")
    theirs = site.repo.show(FILE).replace(b"Another line.", b"Their line.").replace(b"[a, b]", b"[a, b, theirs]")
    site.repo.commit({FILE: theirs})
    mine = {"body": sent["body"].replace("One line.", "My line."), "fm.tags": "mine\na\nb"}
    conflict = submit(owner, url, **sent | mine).location
    view = owner.client.get(conflict)
    assert "Keep both changes" in view.text
    assert "Ada Author changed this page while you were editing." in view.text
    assert "done=saved" in submit(owner, conflict, **form_of(view, "conflict-form")).location
    assert site.repo.show(FILE) == theirs.replace(b"One line.", b"My line.").replace(b"[a,", b"[mine, a,")


@pytest.mark.one_database
def test_conflict_of_a_field_and_a_paragraph_has_a_choice_for_each(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner, url = site.owner, f"{base}/edit/{FILE}"
    sent = form_of(owner.client.get(url), "editor-form")
    before = site.repo.show(FILE)
    theirs = before.replace(b"One line.", b"Their line.").replace(b"First post", b"Their post").replace(b"b]", b"b, c]")
    site.repo.commit({FILE: theirs})
    mine = {"body": sent["body"].replace("One line.", "My line."), "fm.title": "My post"}
    conflict = submit(owner, url, **sent | mine).location
    view = owner.client.get(conflict)
    assert re.findall(r'fieldset__legend">(?:<bdi>)?([^<]*)', view.text) == ["Title", "Part 2"]
    shown = re.findall(r'conflict__value"[^>]*><bdi[^>]*>added: </bdi><ins>(.*?)</p>', view.text)
    assert shown == ["My</ins> post", "Their</ins> post"]
    fields = form_of(view, "conflict-form")
    assert fields["body"].replace("\r\n", "\n").encode() == (
        theirs.replace(b"Their line.", b"My line.").replace(b"Their post", b"My post")
    )
    fields = form_of(submit(owner, conflict, **fields | {"choose": "0:theirs"}), "conflict-form")
    fields = form_of(submit(owner, conflict, **fields | {"choose": "1:both"}), "conflict-form")
    assert (fields["part-0"], fields["part-1"]) == ("theirs", "both")
    assert "done=saved" in submit(owner, conflict, **fields).location
    assert site.repo.show(FILE) == theirs.replace(b"Their line.", b"My line.\nTheir line.")


@pytest.mark.one_database
def test_choice_of_an_unknown_part_returns_the_page_with_the_text(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner, url = site.owner, f"{base}/edit/{FILE}"
    sent = form_of(owner.client.get(url), "editor-form")
    site.repo.commit({FILE: site.repo.show(FILE).replace(b"One line.", b"Their line.")})
    conflict = submit(owner, url, **sent | {"body": sent["body"].replace("One line.", "My line.")}).location
    fields = form_of(owner.client.get(conflict), "conflict-form") | {"body": "Typed."}
    for choice in ("1:mine", "0:other", "x:mine", "0"):
        failed = submit(owner, conflict, **fields | {"choose": choice})
        assert failed.status_code == 400
        assert "Typed." in failed.text


@pytest.mark.one_database
def test_draft_is_stored_shown_and_discarded(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner, url = site.owner, f"{base}/edit/{FILE}"
    sent = form_of(owner.client.get(url), "editor-form")
    typed = sent | {"fm.title": "Typed", "body": sent["body"] + "More.\r\n"}
    assert submit(owner, f"{base}/draft/{FILE}", **typed).status_code == 204
    shown = form_of(owner.client.get(url), "editor-form")
    assert (shown["fm.title"], shown["body"].endswith("More.\r\n")) == ("Typed", True)
    assert FILE in owner.client.get(base).text
    site.repo.commit({FILE: b"Theirs.\n"})
    site.world.work_off()
    assert "Compare the versions" in owner.client.get(url).text
    assert submit(owner, f"{base}/discard-draft/{FILE}").status_code == 303
    assert "Theirs." in owner.client.get(url).text


def test_rename_delete_and_bulk_delete_change_the_branch(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner = site.owner
    fields = form_of(owner.client.get(f"{base}/edit/{FILE}"), f"{base}/rename/")
    taken = submit(owner, f"{base}/rename/{FILE}", **fields | {"new_path": "second"})
    assert taken.status_code == 409
    assert 'name="new_path" value="second"' in taken.text
    renamed = submit(owner, f"{base}/rename/{FILE}", **fields | WHOLE_PATH | {"new_path": "content/moved.md"})
    assert urlsplit(renamed.location).path == f"{base}/edit/content/moved.md"
    fields = form_of(owner.client.get(f"{base}/edit/content/moved.md"), f"{base}/delete/")
    deleted = submit(owner, f"{base}/delete/content/moved.md", **fields).location
    head = console.site.repo.head()
    assert deleted == f"{base}/content/content?done=deleted&undo={head}"
    assert f'action="{base}/undo/{head}"' in owner.client.get(deleted).text
    assert "Restore this version" in owner.client.get(f"{base}/history/content/moved.md").text
    head = site.repo.head()
    bulk = {"base_sha": head, "folder": "", "select": "content/posts/second.md"}
    assert submit(owner, f"{base}/bulk-delete", **bulk).status_code == 303
    assert set(site.repo.entries()) == {"data/menu.yaml", "static/picture.png"}


@pytest.mark.one_database
def test_binary_file_is_shown_and_unknown_file_is_not_found(console: ConsoleScene) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    client = console.site.owner.client
    assert "<img src=" in client.get(f"{base}/edit/static/picture.png").text
    assert client.get(f"{base}/edit/nothing.md").status_code == 404
    assert client.get(f"{base}/search?q=first").status_code == 200


@pytest.mark.one_database
def test_history_compares_and_restores_a_version(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    client = site.owner.client
    before = site.repo.show(FILE)
    site.repo.commit({FILE: before.replace(b"Another line.", b"Replaced line.")}, "Replace a line")
    listed = client.get(f"{base}/history/{FILE}")
    assert "Replace a line" in listed.text
    comparison = html.unescape(re.findall(r'href="([^"]*[?]base=[^"]*)"', listed.text)[0])
    shown = client.get(comparison)
    assert "Replaced" in shown.text
    assert "Another" in shown.text
    fields = form_of(shown, "/restore/")
    assert "done=restored" in submit(site.owner, f"{base}/restore/{FILE}", **fields).location
    assert site.repo.show(FILE) == before
    assert client.get(f"{base}/history").status_code == 200


@pytest.mark.one_database
def test_upload_adds_an_image_to_the_repository(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    fields = form_of(site.owner.client.get(f"{base}/media"), 'enctype="multipart/form-data"')
    data = fields | {"folder": "static/img", "file": (io.BytesIO(b"\x89PNG\r\n\x1a\nx"), "My photo.png")}
    with site.owner.app.app_context():
        sent = site.owner.client.post(f"{base}/media", data=data)
    assert sent.status_code == 303
    assert site.repo.show("static/img/My-photo.png") == b"\x89PNG\r\n\x1a\nx"


@pytest.mark.one_database
def test_editor_heading_is_the_title_and_the_developer_view_has_the_path(console: ConsoleScene) -> None:
    owner, base = console.site.owner, f"/console/projects/{console.ids['project_id']}"
    titled = owner.client.get(f"{base}/edit/{FILE}").text
    assert "<title>First post · Galley</title>" in titled
    assert "<bdi>First post</bdi></h1>" in titled
    assert "<bdi>Second</bdi></h1>" in owner.client.get(f"{base}/edit/content/posts/second.md").text
    choice = form_of(owner.client.get("/console/account/preferences"), "/console/account/preferences")
    assert "developer_view" not in choice
    chosen = choice | {"developer_view": "1", "language": "en", "theme": "system"}
    assert submit(owner, "/console/account/preferences", **chosen).status_code == 303
    shown = owner.client.get(f"{base}/edit/{FILE}")
    assert f'<bdi>First post</bdi> <span class="path-detail muted">{FILE}</span></h1>' in shown.text
    assert form_of(shown, f"{base}/rename/")["new_path"] == FILE


@pytest.mark.one_database
def test_pages_for_editors_show_titles_and_no_path(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    site.repo.commit({"content/posts/second.md": None}, message="Delete content/posts/second.md")
    for path in ("", "/history", f"/history/{FILE}", "/search?q=line", f"/edit/{FILE}", f"/edit/{FILE}?panel=history"):
        page = site.owner.client.get(base + path).text
        shown = re.sub(r"<(script|textarea|galley-)[^>]*>.*?</\1|<[^>]*>", " ", page, flags=re.DOTALL)
        assert "content/posts" not in shown, path
    assert "Delete “Second”" in site.owner.client.get(f"{base}/history").text


SECRET = b"---\ntitle: Hidden\n---\nKEY=hunter2\n"


class TestVersionsOutsideOfTheBranch:
    """Versions that no branch contains stay hidden, and a text that was typed on one of them stays."""

    def test_rewritten_branch_keeps_the_typed_text_and_hides_the_removed_version(self, console: ConsoleScene) -> None:
        site, base = console.site, f"/console/projects/{console.ids['project_id']}"
        owner, url, first = site.owner, f"{base}/edit/{FILE}", site.repo.head()
        site.repo.commit({FILE: SECRET})
        sent = form_of(owner.client.get(url), "editor-form")
        assert sent["body"] == "KEY=hunter2\r\n"
        site.repo.git("update-ref", "refs/heads/main", first)
        head = site.repo.commit({FILE: b"---\ntitle: Public\n---\nTheir line.\n"})
        typed = sent | {"body": "My line.\r\n", "fm.title": "Mine"}
        assert submit(owner, f"{base}/draft/{FILE}", **typed).status_code == 204
        for path in (f"{base}/draft/{FILE}", url):
            answer = submit(owner, path, **typed | {"message": ""})
        assert answer.location == f"{base}/conflict/{FILE}"
        view = owner.client.get(answer.location)
        assert "My line." in view.text
        assert "Their line." in view.text
        assert "hunter2" not in view.text
        assert site.repo.head() == head
        fields = form_of(view, "conflict-form") | {"action": "save", "body": "Ours.\r\n"}
        assert "done=saved" in submit(owner, answer.location, **fields).location
        assert site.repo.show(FILE).endswith(b"Ours.\n")

    @pytest.mark.parametrize("action", ["edit", "draft", "preview-text", "suggest-message", "conflict"])
    def test_form_that_names_an_unreachable_commit_does_not_read_it(self, console: ConsoleScene, action: str) -> None:
        site, base = console.site, f"/console/projects/{console.ids['project_id']}"
        removed = site.repo.commit({FILE: SECRET}, branch="removed", start=site.repo.head())
        blob = site.repo.text("rev-parse", f"removed:{FILE}")
        site.repo.git("update-ref", "-d", "refs/heads/removed")
        fields = {"base_sha": removed, "base_blob_sha": blob, "fm.title": "Typed", "action": "save"}
        answers = [submit(site.owner, f"{base}/{action}/{FILE}", **fields).text]
        answers += [site.owner.client.get(f"{base}/{page}/{FILE}").text for page in ("edit", "conflict")]
        answers.append(str(site.owner.get(f"/project-draft/{site.project}", query_string={"file": FILE}).json))
        assert "hunter2" not in "".join(answers)

    def test_stored_base_that_is_no_version_of_the_file_is_not_shown(self, console: ConsoleScene) -> None:
        site, base = console.site, f"/console/projects/{console.ids['project_id']}"
        site.owner.put(f"/project-draft/{site.project}?file={FILE}", {"content": "Mine.\n"}).ok()
        secret = site.repo.git("hash-object", "-w", "--stdin", data=SECRET).decode().strip()
        with console.app.app_context():
            db.session.execute(sa.update(ProjectDraft).values(base_blob_sha=secret))
            db.session.commit()
        view = site.owner.client.get(f"{base}/conflict/{FILE}")
        assert view.status_code == 200
        assert "Mine." in view.text
        assert "hunter2" not in view.text


@pytest.mark.one_database
def test_pages_of_long_versions_name_the_missing_parts(console: ConsoleScene) -> None:
    site, base = console.site, f"/console/projects/{console.ids['project_id']}"
    owner, url = site.owner, f"{base}/edit/{FILE}"
    texts = [f"{'a b c d ' * 50}{word}\n" * 900 for word in ("one", "two", "three")]
    first = site.repo.commit({FILE: texts[0].encode()})
    sent = form_of(owner.client.get(url), "editor-form")
    second = site.repo.commit({FILE: texts[1].encode()})
    compared = owner.client.get(f"{base}/history/{FILE}?base={first}&head={second}").text
    assert "This comparison is too long to show completely." in compared
    stopped = submit(owner, url, **sent | {"body": texts[2]})
    assert "Only the beginning of this text is shown." in owner.client.get(stopped.location).text
    lines = [f"{'a b c d ' * 5}{word}\n" for word in ("one", "two")]
    pair = [site.repo.commit({FILE: "".join(f"{n}\n{line}" for n in range(900)).encode()}) for line in lines]
    compared = owner.client.get(f"{base}/history/{FILE}?base={pair[0]}&head={pair[1]}").text
    assert "Changed words are marked in its first part only." in compared
    assert 0 < compared.count("<ins>") < 900
