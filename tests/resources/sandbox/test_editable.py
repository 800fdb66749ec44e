"""Editable previews: marks in the copy of the site, their sources, repeated starts, and texts without marks."""

import json
import re
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from structlog.testing import capture_logs

from app.content.marks import START, MarkedFile, encode, find_marks, mark_file, strip_marks
from app.database import transactions
from app.drivers.git.object_ids import blob_sha
from app.extensions import db, drivers
from app.models.base import Base
from app.models.project import Project
from app.models.sandbox import MarkRange, Sandbox
from app.resources.sandbox import jobs, marking, service
from tests.drivers.sandbox.contract import fetch
from tests.preview_proxy.test_middleware import Window
from tests.resources.sandbox.conftest import PreviewSite, make_site
from tests.support import factories
from tests.support.parallel import together
from tests.support.tokens import program
from tests.support.world import World

pytestmark = pytest.mark.slow

POST = "---\ntitle: The town hall\n---\n\n# Welcome home\n\nThe hall is open on *Monday*.\n\n- Ground floor\n"
SERVER = """
import http.server, os, pathlib, re, sys
bad = [p for p in sorted(pathlib.Path(".").rglob("*.md")) if re.search({refuses!r}, p.read_text())]
if bad:
    sys.exit("cannot read " + str(bad[0].resolve()))
http.server.test(http.server.SimpleHTTPRequestHandler, port=int(os.environ["PORT"]), bind="127.0.0.1")
"""


def files(refuses: str = "never") -> dict[str, Any]:
    """Return a site whose server shows its files, and does not start if a page matches an expression."""
    return {
        ".galley.yml": b"preview:\n  command: python3 server.py\n",
        "server.py": SERVER.format(refuses=refuses).encode(),
        "content/hall.md": POST.encode(),
        "content/other.md": b"---\ntitle: The other page\n---\n\nAnother text of two lines.\n",
    }


@pytest.fixture
def pages(world: World, stop_sandboxes: None) -> PreviewSite:
    return make_site(world, files())


def shown(site: PreviewSite, path: str) -> str:
    """Return a file as the running editable preview has it."""
    with site.world.app.app_context():
        sandbox = db.session.query(Sandbox).filter_by(project_id=site.project, editable=True, state="running").one()
        assert sandbox.host_id is not None
        status, data = fetch(drivers.sandbox, sandbox.host_id, f"/{path}")
    assert status == 200
    return data.decode()


def marks_of(site: PreviewSite, text: str) -> list[dict[str, Any]]:
    numbers = ",".join(str(mark.number) for mark in find_marks(text))
    result: list[dict[str, Any]] = site.owner.get(f"/project-preview/{site.project}/marks?numbers={numbers}").ok()[
        "marks"
    ]
    return result


class TestMarks:
    def test_marks_name_value_and_blocks(self, pages: PreviewSite) -> None:
        created = pages.created(editable=True)
        assert created["editable"] is True
        text = shown(pages, "content/hall.md")
        assert strip_marks(text, lambda _: True) == POST
        marks = marks_of(pages, text)
        assert {mark["path"] for mark in marks} == {"content/hall.md"}
        assert [mark["pointer"] for mark in marks] == ["/title", None, None, None]
        assert [mark["block"] for mark in marks[1:]] == [
            {"index": 0, "lines": [5, 5]}, {"index": 1, "lines": [7, 7]}, {"index": 2, "lines": [9, 9]},
        ]  # fmt: skip

    def test_plain_preview_has_no_marks_and_is_another_sandbox(self, pages: PreviewSite) -> None:
        editable, plain = pages.created(editable=True), pages.created()
        assert editable["sandboxId"] != plain["sandboxId"]
        assert plain["editable"] is False
        assert pages.record()["sandbox_id"] == plain["sandboxId"]
        assert pages.created(editable=True)["sandboxId"] == editable["sandboxId"]
        pages.stop()
        assert pages.beat(sandboxId=editable["sandboxId"]).ok()["ok"] is True

    def test_unsaved_text_has_marks_of_its_version(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        before = [mark.number for mark in find_marks(shown(pages, "content/hall.md"))]
        new = POST.replace("# Welcome home\n", "# Welcome home\n\nA new paragraph.\n")
        pages.created(editable=True, uncommittedFile={"path": "content/hall.md", "content": new})
        text = shown(pages, "content/hall.md")
        marks = marks_of(pages, text)
        assert not {mark["number"] for mark in marks} & set(before)
        assert [mark["block"]["index"] for mark in marks if mark["block"]] == [0, 1, 2, 3]
        pages.created(editable=True, uncommittedFile={"path": "content/hall.md", "content": POST})
        assert [mark.number for mark in find_marks(shown(pages, "content/hall.md"))] == before

    def test_parallel_edits_have_different_numbers(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        edits = [{"path": f"content/{n}.md", "content": POST.replace("town", f"town {n}")} for n in range(6)]
        together([partial(pages.created, editable=True, uncommittedFile=edit) for edit in edits])
        texts = [shown(pages, edit["path"]) for edit in edits]
        assert [strip_marks(text, lambda _: True) for text in texts] == [edit["content"] for edit in edits]
        marks = [mark for text in texts for mark in marks_of(pages, text)]
        assert len({mark["number"] for mark in marks}) == len(marks)
        assert [mark["path"] for mark in marks if mark["pointer"]] == [edit["path"] for edit in edits]

    def test_restart_has_other_numbers(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        before = {mark.number for mark in find_marks(shown(pages, "content/hall.md"))}
        pages.created(editable=True, forceSync=True)
        assert not before & {mark.number for mark in find_marks(shown(pages, "content/hall.md"))}
        assert all(mark["status"] == 200 for mark in marks_of(pages, "".join(map(encode, sorted(before)))))

    def test_restart_parses_only_changed_files(self, pages: PreviewSite, monkeypatch: pytest.MonkeyPatch) -> None:
        pages.created(editable=True)
        pages.repo.commit({"content/other.md": b"A new text.\n"})
        parsed = list[str]()

        def parse(path: str, *arguments: Any) -> MarkedFile | None:
            parsed.append(path)
            return mark_file(path, *arguments)

        monkeypatch.setattr(marking, "mark_file", parse)
        pages.created(editable=True, forceSync=True)
        assert "content/other.md" in parsed
        assert "content/hall.md" not in parsed
        assert [mark["block"] for mark in marks_of(pages, shown(pages, "content/hall.md"))][1:] == [
            {"index": 0, "lines": [5, 5]}, {"index": 1, "lines": [7, 7]}, {"index": 2, "lines": [9, 9]},
        ]  # fmt: skip
        assert strip_marks(shown(pages, "content/other.md"), lambda _: True) == "A new text.\n"

    def test_unknown_numbers_and_those_of_other_projects_are_404(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        [number, *_] = [mark.number for mark in find_marks(shown(pages, "content/hall.md"))]
        other = make_site(pages.world, files())
        assert marks_of(other, encode(number)) == [{"number": number, "status": 404}]
        assert marks_of(pages, encode(16_000_000)) == [{"number": 16_000_000, "status": 404}]

    @pytest.mark.parametrize("numbers", ["", "a", "1,", "-1", "1,,2", ",".join(["1"] * 501), "999999999"])
    def test_invalid_numbers_are_refused(self, pages: PreviewSite, numbers: str) -> None:
        pages.owner.get(f"/project-preview/{pages.project}/marks?numbers={numbers}").fails(400, "VALIDATION_FAILED")

    def test_read_token_starts_no_editable_preview(self, pages: PreviewSite) -> None:
        reader = program(pages.owner, "read")
        reader.post("/api/sandbox/create", {"projectId": pages.project, "editable": True}).fails(403)

    def test_values_that_pages_use_elsewhere_have_no_marks_after_the_next_start(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        numbers = [mark["number"] for mark in marks_of(pages, shown(pages, "content/hall.md"))]
        with pages.world.app.app_context(), transactions.write_transaction():
            marking.leave_out(db.session.get_one(Project, pages.project), [*numbers, 16_000_000])
        pages.created(editable=True, forceSync=True)
        for _ in range(2):
            marks = marks_of(pages, shown(pages, "content/hall.md"))
            assert [mark["pointer"] for mark in marks] == [None, None, None]
            pages.created(editable=True, uncommittedFile={"path": "content/hall.md", "content": POST})
        pages.stop(sandboxId=pages.created(editable=True)["sandboxId"])
        pages.created(editable=True)
        assert [mark["pointer"] for mark in marks_of(pages, shown(pages, "content/hall.md"))] == [None, None, None]


class TestRepeatedStarts:
    def test_file_that_the_log_names_is_started_without_marks(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world, files(refuses="other page\u2063|two lines.\u2063"))
        created = site.created(editable=True)
        assert created["editable"] is True
        assert not list(find_marks(shown(site, "content/other.md")))
        assert list(find_marks(shown(site, "content/hall.md")))

    def test_site_that_never_starts_with_marks_starts_without(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world, files(refuses="\u2063"))
        created = site.created(editable=True)
        assert (created["editable"], created["editableReason"]) == (
            False, "The site does not start with marks in its files",
        )  # fmt: skip
        assert shown(site, "content/hall.md") == POST

    def test_site_that_fails_without_marks_fails(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world, files(refuses="."))
        site.create(editable=True).fails(422, "SANDBOX_FAILED")
        with world.app.app_context():
            rows = db.session.query(Sandbox).filter_by(project_id=site.project).order_by(Sandbox.created_at).all()
            assert [row.is_marked for row in rows] == [True, True, False]


class TestTextsWithoutMarks:
    def test_saved_texts_lose_marks_that_were_given_out_and_no_other_character(
        self, pages: PreviewSite, app: Flask
    ) -> None:
        pages.created(editable=True)
        marked = shown(pages, "content/hall.md")
        foreign = encode(16_000_000)
        text = marked.replace("Ground floor", f"Ground\u2060 floor{foreign}")
        expected = POST.replace("Ground floor", f"Ground\u2060 floor{foreign}")
        head = pages.repo.head()
        draft = f"/project-draft/{pages.project}?file=content/hall.md"
        assert pages.owner.put(draft, {"content": text}).ok(200, 201)["content"] == expected
        change = {"path": "content/hall.md", "action": "update", "content": text}
        body = {"base_sha": head, "message": "Edit the hall", "files": [change]}
        pages.owner.post(f"/project-content/{pages.project}/commit", body).ok(201)
        assert pages.repo.show("content/hall.md") == expected.encode()

    def test_front_matter_edit_loses_marks(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        title = re.search("title: (.*)", shown(pages, "content/hall.md"))
        assert title is not None
        body = {"base_sha": pages.repo.head(), "file": "content/hall.md", "set": {"title": f"New {title[1]}"}}
        pages.owner.patch(f"/project-content/{pages.project}/front-matter", body).ok(200, 201)
        assert pages.repo.show("content/hall.md") == POST.replace("title: The", "title: New The").encode()

    def test_texts_of_change_sets_lose_marks(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        marked = shown(pages, "content/hall.md").split("# ")[1].splitlines()[0]
        body = {"title": marked, "description": marked}
        created = pages.owner.post(f"/project/{pages.project}/change-sets", body).ok(201)
        assert (created["title"], created["description"]) == ("Welcome home", "Welcome home")
        comments = f"/change-set/{created['id']}/comments"
        assert pages.owner.post(comments, {"body": f"See {marked}"}).ok(201)["body"] == "See Welcome home"
        edited = pages.owner.patch(f"/change-set/{created['id']}", {"title": f"{marked}!"}).ok()
        assert edited["title"] == "Welcome home!"


class TestMarksStayInThePreview:
    def test_no_table_commit_mail_webhook_or_log_line_has_a_mark_after_an_edit(self, pages: PreviewSite) -> None:
        world, owner, hooks = pages.world, pages.owner, f"/organization/{pages.organization}/webhooks"
        hook = {"url": "https://hooks.example.org/marks", "events": ["content.committed"]}
        owner.post(hooks, hook).ok(201)
        before = marked_rows(world.app)
        with capture_logs() as lines:
            pages.created(editable=True)
            marked = shown(pages, "content/hall.md").replace("town hall", "tall hall")
            heading = marked.split("# ")[1].splitlines()[0]
            edit = {"path": "content/hall.md", "content": marked}
            pages.created(editable=True, uncommittedFile=edit)
            owner.put(f"/project-draft/{pages.project}?file=content/hall.md", {"content": marked}).ok(200, 201)
            change = {"action": "update", **edit}
            body = {"base_sha": pages.repo.head(), "message": f"Edit {heading}", "files": [change]}
            owner.post(f"/project-content/{pages.project}/commit", body).ok(201)
            texts = {"title": heading, "description": marked}
            change_set = owner.post(f"/project/{pages.project}/change-sets", texts).ok(201)["id"]
            owner.post(f"/change-set/{change_set}/comments", {"body": f"See {heading}, @{pages.editor.email}"}).ok(201)
            assert marked_rows(world.app) == before, "before the jobs"
            world.work_off()
        assert pages.repo.show("content/hall.md").decode() == POST.replace("town hall", "tall hall")
        assert marked_rows(world.app) == before
        assert START.encode() not in pages.repo.git("cat-file", "--batch-all-objects", "--batch")
        assert [line for line in lines if START in json.dumps(line, default=str, ensure_ascii=False)] == []
        mails = world.app.config["SETTINGS"].mail.directory.glob("*")
        assert [mail.name for mail in mails if START in mail.read_text()] == []


def marked_rows(app: Flask) -> Counter[tuple[str, str]]:
    """Return the number of rows with a mark by table and column. The log of a sandbox is the output of the site.

    Other tests store marks of other previews, which stay.
    """
    found = Counter[tuple[str, str]]()
    with app.app_context():
        for table in Base.metadata.tables.values():
            for row in db.session.execute(sa.select(table)).mappings():
                for column, value in row.items():
                    raw = (
                        value
                        if isinstance(value, bytes)
                        else json.dumps(value, default=str, ensure_ascii=False).encode()
                    )
                    if START.encode() in raw:
                        found[table.name, column] += 1
        db.session.rollback()
    del found["sandboxes", "log"]
    return found


class TestPages:
    PAGE = b"<!doctype html><html><head><title>Hall</title></head><body><h1>Hall</h1></body></html>"

    def test_only_pages_of_the_editable_preview_have_the_script(self, world: World, stop_sandboxes: None) -> None:
        site = make_site(world, files() | {"page.html": self.PAGE})
        for created, has_script in ((site.created(editable=True), True), (site.created(), False)):
            window = Window(world.app, created)
            window.enter()
            page = window.get("/page.html", headers={"Sec-Fetch-Dest": "iframe"})
            assert (b"/_galley/page-marks.js" in page.data) is has_script
            assert (page.data == self.PAGE) is not has_script
            marked = window.get("/content/hall.md").text
            assert (START in marked) is has_script
            assert window.get("/_galley/page-marks.js").status_code == (200 if has_script else 404)


class TestRows:
    def test_rows_are_removed_a_day_after_the_end(self, pages: PreviewSite, app: Flask) -> None:
        created = pages.created(editable=True)
        pages.stop(sandboxId=created["sandboxId"])
        for days, remain in ((0.9, True), (1.1, False)):
            with app.app_context():
                with transactions.write_transaction():
                    row = db.session.get_one(Sandbox, created["sandboxId"])
                    row.ended_at = service.database_now() - timedelta(days=days)
                jobs.reconcile_sandboxes(sandbox=drivers.sandbox)
                assert bool(db.session.query(MarkRange).filter_by(sandbox_id=created["sandboxId"]).count()) is remain

    def test_rows_end_with_the_project(self, pages: PreviewSite, app: Flask) -> None:
        pages.created(editable=True)
        pages.owner.delete(f"/project/{pages.project}").ok()
        with app.app_context():
            assert db.session.query(MarkRange).join(Sandbox).filter(Sandbox.project_id == pages.project).count() == 0


class TestChangesOfTheProject:
    """An editable preview that runs when its project is archived, moved or deleted."""

    def test_archived_project_starts_no_editable_preview_and_its_running_one_stays_readable(
        self, pages: PreviewSite
    ) -> None:
        created = pages.created(editable=True)
        text = shown(pages, "content/hall.md")
        pages.owner.patch(f"/project/status/{pages.project}", {"status": "archived"}).ok()
        pages.create(editable=True).fails(409, "ARCHIVED")
        edit = {"path": "content/hall.md", "content": "Written later.\n"}
        pages.create(editable=True, uncommittedFile=edit).fails(409, "ARCHIVED")
        assert shown(pages, "content/hall.md") == text
        assert {mark["status"] for mark in marks_of(pages, text)} == {200}
        assert pages.stop(sandboxId=created["sandboxId"]).ok()["ok"] is True

    def test_moved_project_shows_marks_and_pages_to_members_of_its_new_organization_only(
        self, pages: PreviewSite
    ) -> None:
        created = pages.created(editable=True)
        number = next(find_marks(shown(pages, "content/hall.md"))).number
        window = Window(pages.world.app, pages.created(by=pages.editor, editable=True))
        window.enter()
        assert window.get("/content/hall.md").status_code == 200
        target = factories.organization(pages.world, pages.owner)
        pages.owner.patch(f"/project/move/{target}/{pages.project}").ok()
        pages.editor.get(f"/project-preview/{pages.project}/marks?numbers={number}").fails(403)
        pages.create(by=pages.editor, editable=True).fails(403)
        assert window.get("/content/hall.md").status_code == 403
        assert marks_of(pages, encode(number))[0]["path"] == "content/hall.md"
        assert pages.created(editable=True)["sandboxId"] == created["sandboxId"]

    def test_deleted_project_has_no_marks_and_its_pages_end(self, pages: PreviewSite) -> None:
        created = pages.created(editable=True)
        number = next(find_marks(shown(pages, "content/hall.md"))).number
        window = Window(pages.world.app, created)
        window.enter()
        pages.owner.delete(f"/project/{pages.project}").ok()
        pages.owner.get(f"/project-preview/{pages.project}/marks?numbers={number}").fails(404)
        pages.create(editable=True).fails(404)
        assert window.get("/content/hall.md").status_code == 403
        pages.world.work_off()
        assert pages.held() == []


class TestForeignNumbers:
    def test_numbers_of_a_replaced_version_name_that_version(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        before = marks_of(pages, shown(pages, "content/hall.md"))
        new = POST.replace("town hall", "town house")
        pages.created(editable=True, uncommittedFile={"path": "content/hall.md", "content": new})
        after = marks_of(pages, shown(pages, "content/hall.md"))
        assert {mark["blob_sha"] for mark in before} == {blob_sha(POST.encode())}
        assert {mark["blob_sha"] for mark in after} == {blob_sha(new.encode())}
        assert not {mark["number"] for mark in before} & {mark["number"] for mark in after}

    def test_number_after_the_last_of_a_file_is_not_that_of_the_file(self, pages: PreviewSite) -> None:
        pages.created(editable=True)
        numbers = [mark.number for mark in find_marks(shown(pages, "content/other.md"))]
        following = max(numbers) + 1
        [mark] = marks_of(pages, encode(following))
        assert mark["status"] == 404 or mark["path"] != "content/other.md"

    def test_person_without_the_right_to_write_starts_no_editable_preview(self, pages: PreviewSite) -> None:
        factories.limit(pages.world, pages.organization, pages.editor)
        for person in (pages.world.person(), pages.editor):
            pages.create(by=person, editable=True).fails(403)
        assert pages.held() == []
