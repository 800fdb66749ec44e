"""Drafts: whose they are, what they tell of the file meanwhile, and when they are refused."""

from typing import Any

import pytest
from sqlalchemy import select

from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Membership
from app.models.project_draft import ProjectDraft
from app.resources.project_draft import service
from tests import factories
from tests.world import Person, World

FILE = "content/about.md"


class Desk:
    """A person with a project of one file."""

    def __init__(self, world: World) -> None:
        self.world, self.owner = world, world.person()
        self.organization = factories.organization(world, self.owner)
        name, self.repo = factories.repository(world, {FILE: b"# About\n"})
        self.project = factories.project(world, self.owner, self.organization, name)
        world.work_off()

    def blob(self) -> str:
        return self.repo.text("rev-parse", f"main:{FILE}")

    def put(self, content: str = "typed\n", *, who: Person | None = None, file: str = FILE, **body: Any) -> Any:
        given = {"content": content, "base_blob_sha": self.blob()} | body
        return (who or self.owner).put(f"/project-draft/{self.project}", given, query_string={"file": file})

    def get(self, *, who: Person | None = None, **query: str) -> Any:
        return (who or self.owner).get(f"/project-draft/{self.project}", query_string=query)

    def colleague(self) -> Person:
        person = self.world.person()
        with self.world.app.app_context():
            db.session.add(Membership(organization_id=self.organization, user_id=person.id, role=Role.EDITOR))
            db.session.commit()
        return person


@pytest.fixture
def desk(world: World) -> Desk:
    return Desk(world)


class TestPut:
    def test_it_is_kept_and_told_back(self, desk: Desk) -> None:
        kept = desk.put("typed\n").ok()
        assert (kept["file"], kept["content"], kept["branch"], kept["conflict"]) == (FILE, "typed\n", "main", False)
        assert desk.get(file=FILE).ok() == kept

    def test_it_is_not_changed_before_it_was_made(self, desk: Desk) -> None:
        kept = desk.put("typed\n").ok()
        assert kept["createdAt"] == kept["updatedAt"]

    def test_an_older_state_than_the_present_one_is_not_written_over(self, desk: Desk) -> None:
        path, named = f"/project-draft/{desk.project}", {"file": FILE}
        body = {"content": "two", "base_blob_sha": desk.blob()}
        desk.put("one")
        seen = {"If-Match": desk.get(file=FILE).headers["ETag"]}
        desk.owner.put(path, body, query_string=named, headers=seen).ok()
        desk.owner.put(path, body | {"content": "three"}, query_string=named, headers=seen).fails(412)
        desk.owner.delete(path, query_string=named, headers=seen).fails(412)
        assert desk.get(file=FILE).ok()["content"] == "two"

    def test_the_next_one_takes_its_place(self, desk: Desk) -> None:
        desk.put("one")
        desk.put("two").ok()
        assert desk.get(file=FILE).ok()["content"] == "two"
        assert len(desk.get().ok()) == 1

    def test_a_file_saved_meanwhile_is_a_conflict(self, desk: Desk) -> None:
        base = desk.blob()
        change = {"path": FILE, "action": "update", "content": "saved\n"}
        body = {"message": "Save", "base_sha": desk.repo.head(), "files": [change]}
        desk.put("typed\n")
        desk.owner.post(f"/project-content/{desk.project}/commit", body).ok(201)
        told = desk.get(file=FILE).ok()
        assert (told["conflict"], told["base_blob_sha"], told["current_blob_sha"]) == (True, base, desk.blob())
        assert desk.put("again", base_blob_sha=base).ok()["conflict"] is True
        assert desk.put("again").ok()["conflict"] is False

    def test_a_new_file_conflicts_with_one_that_is_there(self, desk: Desk) -> None:
        assert desk.put(file="new.md", base_blob_sha=None).ok()["conflict"] is False
        assert desk.put(base_blob_sha=None).ok()["conflict"] is True

    @pytest.mark.parametrize(
        ("query", "body", "path"),
        [
            ({}, {"content": ""}, "file"),
            ({"file": "../x"}, {"content": ""}, "file"),
            ({"file": "a", "ref": "a..b"}, {"content": ""}, "ref"),
            ({"file": "a"}, {}, "content"),
            ({"file": ["a", "b"]}, {"content": ""}, "file"),
            ({"file": "a"}, {"content": 1}, "content"),
            ({"file": "a"}, {"content": "", "base_blob_sha": "x"}, "base_blob_sha"),
        ],
    )
    def test_a_bad_request_is_refused_by_path(self, desk: Desk, query: Any, body: Any, path: str) -> None:
        desk.owner.put(f"/project-draft/{desk.project}", body, query_string=query).fails(400, None, path)

    def test_there_is_a_limit(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service, "MAX_DRAFTS", 2)
        desk.put(file="a.md")
        desk.put(file="b.md")
        desk.put(file="c.md").fails(403, "LIMIT_REACHED")
        desk.put(file="b.md").ok()


class TestWhose:
    def test_everybody_has_their_own(self, desk: Desk) -> None:
        colleague = desk.colleague()
        desk.put("mine")
        desk.get(who=colleague, file=FILE).fails(404)
        desk.put("theirs", who=colleague)
        assert [desk.get(who=who, file=FILE).ok()["content"] for who in (desk.owner, colleague)] == ["mine", "theirs"]

    def test_strangers_have_none(self, desk: Desk) -> None:
        stranger = desk.world.person()
        desk.get(who=stranger).fails(403)
        desk.put(who=stranger).fails(403)

    def test_they_go_with_the_project(self, desk: Desk) -> None:
        desk.put()
        desk.owner.delete(f"/project/{desk.project}").ok()
        with desk.world.app.app_context():
            assert db.session.scalars(select(ProjectDraft).where(ProjectDraft.project_id == desk.project)).all() == []


class TestGet:
    def test_the_list_is_the_branchs_latest_first_without_contents(self, desk: Desk) -> None:
        desk.put(file="a.md")
        desk.put(file="b.md")
        desk.owner.put(f"/project-draft/{desk.project}?file=c.md&ref=work", {"content": ""}).ok()
        listed = desk.get().ok()
        assert {draft["file"] for draft in listed} == {"a.md", "b.md"}
        assert "content" not in listed[0]
        assert [draft["file"] for draft in desk.get(ref="work").ok()] == ["c.md"]

    def test_none_is_not_found(self, desk: Desk) -> None:
        desk.get(file=FILE).fails(404)


class TestDelete:
    def test_it_is_gone_however_often_it_is_dropped(self, desk: Desk) -> None:
        desk.put()
        for _ in range(2):
            dropped = desk.owner.delete(f"/project-draft/{desk.project}", query_string={"file": FILE}).ok()
            assert dropped == {"file": FILE, "deleted": True}
        desk.get(file=FILE).fails(404)
