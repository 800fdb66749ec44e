"""Images that are uploaded in the editor: they belong to the draft, and the save of the page commits those it names."""

import html
import io
import json
import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from werkzeug.test import TestResponse

from app.core.limits import MIB, DraftLimits
from app.database.transactions import reading_context
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.project_content import DraftImage
from app.resources.project_draft import images
from app.resources.project_draft.jobs import delete_orphaned_images
from tests.console.conftest import ConsoleScene
from tests.console.test_editing import FILE, form_of
from tests.console.test_forms import multipart, text_part
from tests.console.test_organizations import submit
from tests.support.parallel import together
from tests.support.world import Person

JSON = {"Accept": "application/json", "Origin": "http://127.0.0.1:8000"}
PNG = b"\x89PNG\r\n\x1a\n"
SCHEMA = b"""collections:
  - name: posts
    folder: content/posts
    media_folder: assets/posts
    public_folder: /img
    fields:
      - {name: title, type: string}
      - {name: cover, type: image, media_folder: ./, label: Cover}
      - {name: gallery, type: list, item: {type: image}}
"""


class Editor:
    """A user with the editor of a page whose collection has media folders."""

    def __init__(self, console: ConsoleScene) -> None:
        self.console, self.site = console, console.site
        self.base, self.owner = f"/console/projects/{console.ids['project_id']}", console.site.owner
        self.site.repo.commit({".galley.yml": SCHEMA})
        self.owner.post(console.site.path("/reindex")).ok(202)
        self.site.world.work_off()

    def upload(
        self, name: str, data: bytes = PNG, *, field: str = "", file: str = FILE, who: Person | None = None
    ) -> TestResponse:
        """Upload an image as the scripts of the editor do."""
        head = f'Content-Disposition: form-data; name="image"; filename="{name}"\r\n\r\n'
        body = multipart(head.encode() + data, text_part("field", field.encode()))
        sent = {"data": body, "content_type": "multipart/form-data; boundary=b", "headers": JSON}
        with self.console.app.app_context():
            return (who or self.owner).client.post(f"{self.base}/images/{file}", **sent)

    def form(self, file: str = FILE) -> dict[str, str]:
        return form_of(self.owner.client.get(f"{self.base}/edit/{file}"), "editor-form")

    def save(self, file: str = FILE, **changes: str) -> TestResponse:
        return submit(self.owner, f"{self.base}/edit/{file}", **self.form(file) | changes)

    def type_text(self, text: str, file: str = FILE) -> None:
        """Store a text as the draft."""
        sent = submit(self.owner, f"{self.base}/draft/{file}", **self.form(file) | {"body": text})
        assert sent.status_code == 204

    def rows(self) -> list[str]:
        """Return the paths of the stored images of all drafts."""
        with self.console.app.app_context():
            statement = sa.select(DraftImage.path).where(DraftImage.project_id == self.site.project)
            return list(db.session.scalars(statement.order_by(DraftImage.path)))

    def make_old(self, *names: str) -> None:
        """Change the time of the upload of some images to two days ago."""
        is_old = sa.and_(
            DraftImage.project_id == self.site.project, DraftImage.url.in_([f"/img/{one}" for one in names])
        )
        with self.console.app.app_context():
            old = utcnow_ms() - timedelta(days=2)
            db.session.execute(sa.update(DraftImage).where(is_old).values(created_at=old))
            db.session.commit()

    def changed(self) -> set[str]:
        """Return the paths that the last commit changed."""
        return set(self.site.repo.git("show", "--format=", "--name-only", "main").decode().split())


@pytest.fixture
def editor(console: ConsoleScene) -> Editor:
    return Editor(console)


def test_uploaded_images_are_committed_with_the_page(editor: Editor) -> None:
    head = editor.site.repo.head()
    in_text, in_field = editor.upload("Low tide.png"), editor.upload("Pier.JPG", b"\xff\xd8\xff1", field="cover")
    assert [one.status_code for one in (in_text, in_field)] == [201, 201]
    assert (in_text.json["path"], in_text.json["url"]) == ("assets/posts/Low-tide.png", "/img/Low-tide.png")
    assert (in_field.json["path"], in_field.json["url"]) == ("content/posts/Pier.JPG", "Pier.JPG")
    assert editor.site.repo.head() == head
    shown = editor.owner.client.get(f"{editor.base}/edit/{FILE}").text
    previews = json.loads(html.unescape(re.findall(r'data-images="([^"]*)"', shown)[0]))
    assert previews == {one.json["url"]: one.json["preview"] for one in (in_text, in_field)}
    served = editor.owner.client.get(in_field.json["preview"])
    assert (served.data, served.mimetype) == (b"\xff\xd8\xff1", "image/jpeg")
    assert "sandbox" in served.headers["Content-Security-Policy"]
    assert editor.save(**{"body": "![Low tide](/img/Low-tide.png)\r\n", "fm.cover": "Pier.JPG"}).status_code == 303
    assert editor.changed() == {FILE, "assets/posts/Low-tide.png", "content/posts/Pier.JPG"}
    assert editor.site.repo.text("rev-list", "--count", f"{head}..main") == "1"
    assert editor.site.repo.show("content/posts/Pier.JPG") == b"\xff\xd8\xff1"
    assert editor.rows() == []


@pytest.mark.one_database
def test_image_that_the_saved_page_does_not_name_is_not_committed(editor: Editor) -> None:
    for name in ("a.png", "b.png"):
        editor.upload(name)
    editor.make_old("a.png")
    editor.save(body="No image, only other-a.png, /img/a.png.txt and /other/a.png\r\n")
    assert editor.changed() == {FILE}
    # An image that was uploaded while the page was saved stays.
    assert editor.rows() == ["assets/posts/b.png"]
    editor.save(body="![b](/img/b.png?v=1)\r\n")
    assert editor.changed() == {FILE, "assets/posts/b.png"}


@pytest.mark.one_database
@pytest.mark.parametrize(
    "text", ["![x](</img/a.png> 'T')", '<img src="/img/a.png">', "[x]: /img/a.png", "x: /img/%61.png"]
)
def test_image_is_named_by_links_of_any_notation(editor: Editor, text: str) -> None:
    editor.upload("a.png")
    editor.save(body=f"{text}\r\n")
    assert "assets/posts/a.png" in editor.changed()


@pytest.mark.one_database
def test_image_without_another_change_is_committed(editor: Editor) -> None:
    editor.save(body="![x](/img/a.png)\r\n")
    editor.upload("a.png")
    assert "done=saved" in editor.save().location
    assert editor.changed() == {"assets/posts/a.png"}


def test_discarded_draft_leaves_no_image(editor: Editor) -> None:
    head = editor.site.repo.head()
    editor.upload("a.png")
    editor.type_text("![x](/img/a.png)\r\n")
    submit(editor.owner, f"{editor.base}/discard-draft/{FILE}")
    assert (editor.rows(), editor.site.repo.head()) == ([], head)


@pytest.mark.one_database
def test_draft_with_undone_text_keeps_its_images(editor: Editor) -> None:
    editor.upload("a.png")
    before = editor.form()["body"]
    editor.type_text("![x](/img/a.png)\r\n")
    editor.type_text(before)
    assert editor.owner.get(f"/project-draft/{editor.site.project}").ok() == []
    assert editor.rows() == ["assets/posts/a.png"]


@pytest.mark.one_database
def test_conflict_keeps_the_images_and_its_result_commits_them(editor: Editor) -> None:
    sent = editor.form()
    editor.upload("a.png")
    editor.site.repo.commit({FILE: editor.site.repo.show(FILE).replace(b"One line.", b"Their line.")})
    body = sent["body"].replace("One line.", "![x](/img/a.png)")
    stopped = submit(editor.owner, f"{editor.base}/edit/{FILE}", **sent | {"body": body})
    assert stopped.location == f"{editor.base}/conflict/{FILE}"
    assert editor.rows() == ["assets/posts/a.png"]
    fields = form_of(editor.owner.client.get(stopped.location), "conflict-form")
    assert "done=saved" in submit(editor.owner, stopped.location, **fields).location
    assert editor.changed() == {FILE, "assets/posts/a.png"}
    assert editor.rows() == []


@pytest.mark.one_database
def test_new_entry_is_committed_with_its_images(editor: Editor) -> None:
    sent = form_of(editor.owner.client.get(f"{editor.base}/new?folder=content/posts"), "data-new-form")
    made = submit(editor.owner, f"{editor.base}/new", **sent | {"title": "Tides"})
    file = "content/posts/tides.md"
    assert made.location.endswith(file)
    editor.upload("a.png", file=file, field="cover")
    assert "done=saved" in editor.save(file, **{"fm.cover": "a.png"}).location
    assert editor.changed() == {file, "content/posts/a.png"}


@pytest.mark.one_database
def test_name_is_free_in_the_branch_and_in_all_drafts_without_case(editor: Editor) -> None:
    editor.site.repo.commit({"assets/posts/Pier.png": PNG})  # It is not in the index yet.
    assert editor.upload("Pier.png").json["url"] == "/img/Pier-2.png"
    editor.owner.post(editor.site.path("/reindex")).ok(202)
    editor.site.world.work_off()
    assert editor.upload("PIER.PNG").json["url"] == "/img/PIER-3.PNG"
    assert editor.upload("pier.png", file="content/posts/second.md").json["url"] == "/img/pier-4.png"


@pytest.mark.one_database
def test_name_that_was_taken_since_the_upload_is_changed_in_the_text_and_the_field(editor: Editor) -> None:
    editor.upload("a.png", b"\x89PNG\r\n\x1a\nmine")
    editor.upload("cover.png", b"\x89PNG\r\n\x1a\nmine", field="cover")
    editor.upload("same.png")
    taken = {"assets/posts/a.png": PNG, "content/posts/cover.png": PNG, "assets/posts/same.png": PNG}
    editor.site.repo.commit(taken)
    body = "![x](/img/a.png) ![y](/other/img/a.png) ![z](/img/same.png)\r\n"
    saved = editor.save(**{"body": body, "fm.cover": "cover.png"})
    assert "done=saved-renamed" in saved.location
    assert editor.changed() == {FILE, "assets/posts/a-2.png", "content/posts/cover-2.png"}
    text = editor.site.repo.show(FILE).decode()
    assert "![x](/img/a-2.png) ![y](/other/img/a.png) ![z](/img/same.png)" in text
    assert "cover: cover-2.png" in text
    assert editor.site.repo.show("assets/posts/a.png") == PNG
    assert editor.rows() == []
    assert "An image got another name" in editor.owner.client.get(saved.location).text


@pytest.mark.one_database
def test_name_that_was_taken_in_another_case_is_changed(editor: Editor) -> None:
    editor.upload("a.png", b"\x89PNG\r\n\x1a\nmine")
    editor.site.repo.commit({"assets/posts/A.PNG": PNG})
    editor.owner.post(editor.site.path("/reindex")).ok(202)
    editor.site.world.work_off()
    editor.save(body="![x](/img/a.png)\r\n")
    assert editor.changed() == {FILE, "assets/posts/a-2.png"}


def test_relative_image_stays_in_the_repository_if_its_page_moves_to_the_root() -> None:
    image = DraftImage(path="content/pics/a.png", url="../pics/a.png")
    assert images.moved_path(image, "content/m/page.md", "other/page.md") == "pics/a.png"
    assert images.moved_path(image, "content/m/page.md", "page.md") == "content/pics/a.png"


@pytest.mark.one_database
def test_name_that_is_taken_and_cannot_be_changed_in_the_text_keeps_everything(editor: Editor) -> None:
    editor.upload("a.png", b"\x89PNG\r\n\x1a\nmine")
    head = editor.site.repo.commit({"assets/posts/a.png": PNG})
    refused = editor.save(body="![x](/img/%61.png)\r\n")
    assert refused.status_code == 409
    assert "“a.png” exists now." in refused.text
    assert "/img/%61.png" in refused.text
    assert (editor.site.repo.head(), editor.rows()) == (head, ["assets/posts/a.png"])


@pytest.mark.one_database
def test_form_without_scripts_stores_the_files_of_its_fields(editor: Editor) -> None:
    url, sent = f"{editor.base}/edit/{FILE}", editor.form() | {"fm.gallery": "old.png"}
    assert 'enctype="multipart/form-data"' in editor.owner.client.get(url).text

    def send(**more: Any) -> TestResponse:
        with editor.console.app.app_context():
            return editor.owner.client.post(url, data=sent | more, content_type="multipart/form-data")

    empty = {"image.cover": (io.BytesIO(), "")}
    files = {"image.gallery": (io.BytesIO(PNG), "a.png"), "image.cover": (io.BytesIO(PNG), "b.png")}
    shown = send(**files, **{"list-action": "show"})
    assert shown.status_code == 200
    assert 'value="b.png"' in shown.text
    head = editor.site.repo.head()
    refused = send(**{"image.cover": (io.BytesIO(b"text"), "c.png")})
    assert refused.status_code == 415
    assert 'id="fm.cover-error"' in refused.text
    assert editor.site.repo.head() == head
    sent |= form_of(shown, "editor-form")
    assert send(**empty).status_code == 303
    assert editor.changed() == {FILE, "assets/posts/a.png", "content/posts/b.png"}
    text = editor.site.repo.show(FILE).decode()
    assert "cover: b.png" in text
    assert "gallery: [old.png, /img/a.png]" in text


@pytest.mark.one_database
def test_refused_upload_names_its_field(editor: Editor) -> None:
    for name, data, status, message in (
        ("a.txt", PNG, 415, "This is not an image."),
        ("a.png", b"<html>", 415, "This is not an image."),
        ("a.png", PNG + bytes(DraftLimits.image_bytes), 413, "An image can have at most 20 MiB."),
    ):
        refused = editor.upload(name, data)
        assert refused.status_code == status
        assert refused.json["errorMessage"] == [{"path": "image", "message": message}]
    with editor.console.app.app_context():
        data = {"field": ""}
        assert editor.owner.client.post(f"{editor.base}/images/{FILE}", data=data, headers=JSON).status_code == 400
    assert editor.rows() == []


@pytest.mark.one_database
def test_choice_of_images_has_addresses_and_starts_with_the_draft(editor: Editor) -> None:
    editor.site.repo.commit({"assets/posts/tide.png": PNG})
    editor.owner.post(editor.site.path("/reindex")).ok(202)
    editor.site.world.work_off()
    stored = editor.upload("Picture new.png").json
    client = editor.owner.client
    listed = client.get(f"{editor.base}/images/{FILE}?q=PICT", headers=JSON).json["images"]
    assert listed[0] == stored
    assert [one["url"] for one in listed] == ["/img/Picture-new.png", "/picture.png"]
    listed = client.get(f"{editor.base}/images/{FILE}?q=tide", headers=JSON).json["images"]
    assert [(one["path"], one["url"]) for one in listed] == [("assets/posts/tide.png", "/img/tide.png")]
    assert client.get(listed[0]["preview"]).data == PNG


@pytest.mark.one_database
def test_draft_images_belong_to_their_user_and_file(editor: Editor) -> None:
    preview = editor.upload("a.png").json["preview"]
    colleague = editor.console.people["editor"].client
    assert colleague.get(preview).status_code == 404
    assert editor.owner.client.get(preview.replace("first.md", "second.md")).status_code == 404
    editor.type_text("x\r\n", "content/posts/second.md")
    submit(editor.owner, f"{editor.base}/discard-draft/content/posts/second.md")
    assert editor.rows() == ["assets/posts/a.png"]


@pytest.mark.one_database
def test_draft_of_a_removed_page_moves_with_its_relative_images(editor: Editor) -> None:
    editor.upload("a.png", field="cover")
    editor.type_text("![x](a.png)\r\n")
    editor.site.repo.commit({FILE: None})
    view = form_of(editor.owner.client.get(f"{editor.base}/conflict/{FILE}"), "removed-form")
    sent = view | {"action": "create", "path_start": "content/", "new_path": "other/copy"}
    assert submit(editor.owner, f"{editor.base}/removed/{FILE}", **sent).status_code == 303
    assert editor.changed() == {"content/other/copy.md", "content/other/a.png"}
    assert editor.rows() == []


@pytest.mark.one_database
def test_draft_of_a_renamed_page_keeps_its_images(editor: Editor) -> None:
    editor.upload("a.png", field="cover")
    editor.type_text("![x](a.png)\r\n")
    moved = "content/other/moved.md"
    editor.site.repo.commit({moved: editor.site.repo.show(FILE), FILE: None})
    view = form_of(editor.owner.client.get(f"{editor.base}/conflict/{FILE}"), "removed-form")
    followed = submit(editor.owner, f"{editor.base}/removed/{FILE}", **view | {"action": "follow"})
    assert followed.location == f"{editor.base}/conflict/{moved}"
    assert editor.rows() == ["content/other/a.png"]
    fields = form_of(editor.owner.client.get(followed.location), "conflict-form")
    assert submit(editor.owner, followed.location, **fields).status_code == 303
    assert editor.changed() == {moved, "content/other/a.png"}


class TestLimits:
    def fill(self, editor: Editor, number: int, size: int, file: str = FILE) -> None:
        """Store rows of images whose declared sizes count."""
        ids = {"project_id": editor.site.project, "user_id": editor.owner.id, "branch": "main", "file": file}
        with editor.console.app.app_context():
            rows = [ids | {"path": f"{file}/{n}", "url": f"{n}", "size": size, "content": b""} for n in range(number)]
            db.session.execute(sa.insert(DraftImage), rows)
            db.session.commit()

    @pytest.mark.parametrize(
        ("number", "size", "file", "status"),
        [
            (DraftLimits.images, 1, FILE, 422),
            (1, DraftLimits.image_bytes - 7, FILE, 413),
            (DraftLimits.user_image_bytes // MIB, MIB, "other.md", 413),
        ],
    )
    def test_upload_above_a_limit_is_refused_at_its_field(
        self, editor: Editor, number: int, size: int, file: str, status: int
    ) -> None:
        self.fill(editor, number, size, file)
        refused = editor.upload("a.png")
        assert refused.status_code == status
        assert [one["path"] for one in refused.json["errorMessage"]] == ["image"]
        with editor.console.app.app_context():
            of_user = DraftImage.user_id == editor.owner.id
            db.session.execute(sa.delete(DraftImage).where(of_user, DraftImage.url == "0"))
            db.session.commit()
        assert editor.upload("a.png").status_code == 201

    def test_upload_above_a_limit_replaces_images_that_the_draft_no_longer_names(self, editor: Editor) -> None:
        for name in ("named.png", "removed.png", "recent.png"):
            editor.upload(name)
        editor.type_text("![x](/img/named.png)\r\n")
        editor.make_old("named.png", "removed.png")
        self.fill(editor, 1, DraftLimits.image_bytes - 3 * len(PNG))
        assert editor.upload("a.png").status_code == 201
        assert editor.rows()[:3] == [f"assets/posts/{name}.png" for name in ("a", "named", "recent")]

    def test_parallel_uploads_do_not_exceed_the_limit(self, editor: Editor) -> None:
        self.fill(editor, 1, DraftLimits.image_bytes - 2 * len(PNG))
        people = [editor.owner.again() for _ in range(6)]
        calls = [partial(editor.upload, f"{number}.png", who=who) for number, who in enumerate(people)]
        assert sorted(one.status_code for one in together(calls)) == [201, 201, 413, 413, 413, 413]


def test_parallel_uploads_of_one_name_get_different_names(editor: Editor) -> None:
    people = [editor.owner.again() for _ in range(6)]
    calls = [partial(editor.upload, "a.png", PNG + bytes([number]), who=who) for number, who in enumerate(people)]
    answers = together(calls)
    assert {one.status_code for one in answers} == {201}
    assert {one.json["url"] for one in answers} == {"/img/a.png", *(f"/img/a-{n}.png" for n in range(2, 7))}
    contents = {one.json["url"]: editor.owner.client.get(one.json["preview"]).data[-1] for one in answers}
    assert sorted(contents.values()) == [0, 1, 2, 3, 4, 5]


def test_upload_during_a_save_is_committed_by_the_next_save(editor: Editor) -> None:
    editor.upload("a.png")
    other = editor.owner.again()
    sent = editor.form() | {"body": "![x](/img/a.png)\r\n"}
    calls = [
        partial(submit, editor.owner, f"{editor.base}/edit/{FILE}", **sent),
        *(partial(editor.upload, f"b{number}.png", who=other) for number in range(3)),
    ]
    assert [one.status_code for one in together(calls)] == [303, 201, 201, 201]
    assert editor.changed() == {FILE, "assets/posts/a.png"}
    assert editor.rows() == [f"assets/posts/b{number}.png" for number in range(3)]
    editor.save(body="".join(f"![x](/img/b{number}.png)\r\n" for number in range(3)))
    assert editor.changed() == {FILE, *(f"assets/posts/b{number}.png" for number in range(3))}


def test_parallel_saves_commit_an_image_once(editor: Editor) -> None:
    editor.upload("a.png")
    sent = editor.form() | {"body": "![x](/img/a.png)\r\n"}
    people = [editor.owner.again() for _ in range(3)]
    together([partial(submit, who, f"{editor.base}/edit/{FILE}", **sent) for who in people])
    names = editor.site.repo.git("ls-tree", "-r", "--name-only", "main").decode().split()
    assert [name for name in names if name.startswith("assets/")] == ["assets/posts/a.png"]
    assert "/img/a.png" in editor.site.repo.show(FILE).decode()


def test_images_without_a_text_are_deleted_after_a_day(editor: Editor) -> None:
    for name, file in (("old.png", FILE), ("recent.png", FILE), ("drafted.png", "content/posts/second.md")):
        editor.upload(name, file=file)
    editor.type_text("x\r\n", "content/posts/second.md")
    editor.make_old("old.png", "drafted.png")
    for _ in range(2):
        with reading_context(editor.console.app):
            delete_orphaned_images()
        assert editor.rows() == ["assets/posts/drafted.png", "assets/posts/recent.png"]


def test_images_are_deleted_with_the_project(editor: Editor) -> None:
    editor.upload("a.png")
    editor.owner.delete(f"/project/{editor.site.project}").ok()
    assert editor.rows() == []


def test_archived_project_accepts_no_image(editor: Editor) -> None:
    editor.owner.patch(f"/project/status/{editor.site.project}", {"status": "archived"}).ok()
    assert editor.upload("a.png").status_code == 409
