"""Tests of drafts through the API: owners, conflicts with saved files, limits."""

from typing import Any

import pytest
from sqlalchemy import insert, select

from app.core.permissions import Role
from app.extensions import db
from app.models.organization import Membership
from app.models.project_content import ProjectDraft
from app.resources.project_draft.actions import MAX_DRAFTS
from tests.support import factories
from tests.support.world import Person, World

FILE = "content/about.md"


class DraftSite:
    """A user with a project of one file."""

    def __init__(self, world: World) -> None:
        self.world, self.owner = world, world.person()
        self.organization = factories.organization(world, self.owner)
        name, self.repo = factories.repository(world, {FILE: b"# About\n"})
        self.project = factories.project(world, self.owner, self.organization, name)
        world.work_off()
        self.indexed = self.blob()

    def reindex(self) -> None:
        """Index commits that were made without the service."""
        self.owner.post(f"/project-content/{self.project}/reindex").ok(202)
        self.world.work_off()
        self.indexed = self.blob()

    def blob(self, name: str = f"main:{FILE}") -> str:
        return self.repo.text("rev-parse", name)

    def put(self, content: str = "typed\n", *, who: Person | None = None, file: str = FILE, **body: Any) -> Any:
        values = {"content": content} | body
        if file == FILE:
            values = {"base_blob_sha": self.indexed, **values}
        return (who or self.owner).put(f"/project-draft/{self.project}", values, query_string={"file": file})

    def get(self, *, who: Person | None = None, **query: str) -> Any:
        return (who or self.owner).get(f"/project-draft/{self.project}", query_string=query)

    def colleague(self) -> Person:
        person = self.world.person()
        with self.world.app.app_context():
            db.session.add(Membership(organization_id=self.organization, user_id=person.id, role=Role.EDITOR))
            db.session.commit()
        return person


@pytest.fixture
def site(world: World) -> DraftSite:
    return DraftSite(world)


class TestPut:
    def test_saved_draft_is_returned(self, site: DraftSite) -> None:
        draft = site.put("typed\n").ok()
        assert (draft["file"], draft["content"], draft["branch"], draft["conflict"]) == (FILE, "typed\n", "main", False)
        assert site.get(file=FILE).ok() == draft

    def test_new_draft_has_equal_creation_and_update_times(self, site: DraftSite) -> None:
        draft = site.put("typed\n").ok()
        assert draft["createdAt"] == draft["updatedAt"]

    def test_draft_with_stale_if_match_returns_412(self, site: DraftSite) -> None:
        path, named = f"/project-draft/{site.project}", {"file": FILE}
        body = {"content": "two", "base_blob_sha": site.blob()}
        site.put("one")
        seen = {"If-Match": site.get(file=FILE).headers["ETag"]}
        site.owner.put(path, body, query_string=named, headers=seen).ok()
        site.owner.put(path, body | {"content": "three"}, query_string=named, headers=seen).fails(412)
        site.owner.delete(path, query_string=named, headers=seen).fails(412)
        assert site.get(file=FILE).ok()["content"] == "two"

    def test_second_draft_replaces_the_first(self, site: DraftSite) -> None:
        site.put("one")
        site.put("two").ok()
        assert site.get(file=FILE).ok()["content"] == "two"
        assert len(site.get().ok()) == 1

    def test_draft_of_a_file_saved_since_the_base_has_a_conflict(self, site: DraftSite) -> None:
        base = site.blob()
        change = {"path": FILE, "action": "update", "content": "saved\n"}
        body = {"message": "Save", "base_sha": site.repo.head(), "files": [change]}
        site.put("typed\n")
        site.owner.post(f"/project-content/{site.project}/commit", body).ok(201)
        result = site.get(file=FILE).ok()
        assert (result["conflict"], result["base_blob_sha"], result["current_blob_sha"]) == (True, base, site.blob())
        assert site.put("again", base_blob_sha=base).ok()["conflict"] is True
        assert site.put("again", base_blob_sha=site.blob()).ok()["conflict"] is False

    def test_draft_of_a_new_file_conflicts_with_an_existing_file(self, site: DraftSite) -> None:
        assert site.put(file="new.md", base_blob_sha=None).ok()["conflict"] is False
        assert site.put(base_blob_sha=None).ok()["conflict"] is True

    @pytest.mark.one_database
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
    def test_invalid_request_returns_400_with_path(self, site: DraftSite, query: Any, body: Any, path: str) -> None:
        site.owner.put(f"/project-draft/{site.project}", body, query_string=query).fails(400, None, path)

    def test_draft_above_the_limit_returns_403(self, site: DraftSite) -> None:
        ids = {"project_id": site.project, "user_id": site.owner.id, "branch": "main"}
        with site.world.app.app_context():
            rows = [ids | {"file": f"{number}.md", "content": ""} for number in range(MAX_DRAFTS - 2)]
            db.session.execute(insert(ProjectDraft), rows)
            db.session.commit()
        site.put(file="a.md")
        site.put(file="b.md")
        site.put(file="c.md").fails(403, "LIMIT_REACHED")
        site.put(file="b.md").ok()


class TestOwnership:
    def test_drafts_of_users_are_separate(self, site: DraftSite) -> None:
        colleague = site.colleague()
        site.put("mine")
        site.get(who=colleague, file=FILE).fails(404)
        site.put("theirs", who=colleague)
        assert [site.get(who=who, file=FILE).ok()["content"] for who in (site.owner, colleague)] == ["mine", "theirs"]

    @pytest.mark.one_database
    def test_nonmember_returns_403(self, site: DraftSite) -> None:
        stranger = site.world.person()
        site.get(who=stranger).fails(403)
        site.put(who=stranger).fails(403)

    def test_drafts_are_deleted_with_the_project(self, site: DraftSite) -> None:
        site.put()
        site.owner.delete(f"/project/{site.project}").ok()
        with site.world.app.app_context():
            assert db.session.scalars(select(ProjectDraft).where(ProjectDraft.project_id == site.project)).all() == []


class TestGet:
    def test_list_contains_the_drafts_of_the_branch_without_content(self, site: DraftSite) -> None:
        site.put(file="a.md")
        site.put(file="b.md")
        site.owner.put(f"/project-draft/{site.project}?file=c.md&ref=work", {"content": ""}).ok()
        listed = site.get().ok()
        assert {draft["file"] for draft in listed} == {"a.md", "b.md"}
        assert "content" not in listed[0]
        assert [draft["file"] for draft in site.get(ref="work").ok()] == ["c.md"]

    @pytest.mark.one_database
    def test_read_of_a_missing_draft_returns_404(self, site: DraftSite) -> None:
        site.get(file=FILE).fails(404)


class TestDelete:
    def test_delete_is_idempotent(self, site: DraftSite) -> None:
        site.put()
        for _ in range(2):
            dropped = site.owner.delete(f"/project-draft/{site.project}", query_string={"file": FILE}).ok()
            assert dropped == {"file": FILE, "deleted": True}
        site.get(file=FILE).fails(404)


SECRET = "secret.env"


class TestBase:
    """The base of a draft is a version of its file, because the console shows it with the draft."""

    @pytest.fixture
    def versions(self, site: DraftSite) -> dict[str, str]:
        """Return blobs by name: versions of the file, and objects that are none."""
        first, repo = site.repo.head(), site.repo
        blobs = {"first": site.blob()}
        repo.commit({FILE: b"two\n", SECRET: b"KEY=1\n"})
        blobs |= {"second": site.blob(), "other path": site.blob(f"main:{SECRET}")}
        repo.commit({FILE: b"three\n", SECRET: None})
        repo.commit({FILE: b"elsewhere\n"}, branch="work", start=first)
        blobs["other branch"] = site.blob(f"work:{FILE}")
        repo.commit({FILE: b"dropped\n"}, branch="dropped", start=first)
        blobs |= {"dropped": site.blob(f"dropped:{FILE}"), "dropped commit": repo.head("dropped")}
        repo.git("update-ref", "-d", "refs/heads/dropped")
        return blobs | {
            "loose": repo.git("hash-object", "-w", "--stdin", data=b"x").decode().strip(),
            "first commit": first,
        }

    @pytest.mark.parametrize("name", ["other path", "other branch", "dropped", "loose", "first commit"])
    def test_base_that_was_no_version_of_the_file_returns_400(
        self, site: DraftSite, versions: dict[str, str], name: str
    ) -> None:
        site.put(base_blob_sha=versions[name]).fails(400, None, "base_blob_sha")
        for commit in (versions["dropped commit"], site.repo.head()):
            site.put(base_blob_sha=versions[name], base_sha=commit).fails(400, None, "base_blob_sha")
        site.get(file=FILE).fails(404)

    def test_earlier_version_is_accepted_before_and_after_it_is_indexed(
        self, site: DraftSite, versions: dict[str, str]
    ) -> None:
        for name in ("second", "first"):
            assert site.put(base_blob_sha=versions[name]).ok()["conflict"] is (name == "second")
        assert site.put(base_blob_sha=versions["first"], base_sha=versions["first commit"]).ok()
        assert site.put(base_blob_sha=site.blob()).ok()["conflict"] is True
        site.reindex()
        assert site.put(base_blob_sha=site.blob()).ok()["conflict"] is False

    def test_version_of_another_branch_is_accepted_for_that_branch(
        self, site: DraftSite, versions: dict[str, str]
    ) -> None:
        body = {"content": "typed", "base_blob_sha": versions["other branch"]}
        query = {"file": FILE, "ref": "work"}
        assert site.owner.put(f"/project-draft/{site.project}", body, query_string=query).ok()["branch"] == "work"

    def test_stored_base_is_accepted_after_its_history_was_rewritten(self, site: DraftSite) -> None:
        base = site.blob()
        site.put("one", base_blob_sha=base)
        site.repo.git("update-ref", "-d", "refs/heads/main")
        site.repo.commit({FILE: b"rewritten\n"}, start="")
        site.reindex()
        assert site.put("two", base_blob_sha=base).ok()["conflict"] is True

    @pytest.mark.one_database
    def test_known_base_does_not_call_the_git_host(self, site: DraftSite) -> None:
        base = site.blob()
        site.repo.folder.rename(site.repo.folder.with_suffix(".away"))
        site.put("one", base_blob_sha=base).ok()
