"""Tests of the states of change sets on a local repository, checked with Git."""

from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.models.change_set import ChangeSet
from app.resources.change_set import service
from tests.resources.change_set.conftest import OTHER, PAGE, TEXT, Team, on_all_hosts, run_job, update
from tests.support.git_hosts import Hosts
from tests.support.parallel import together
from tests.support.tokens import program

NEW = TEXT.replace("First", "New")


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    """The application whose Git hosts are doubles."""
    return hosted[0]


@on_all_hosts
class TestLifecycle:
    def test_set_is_proposed_reviewed_published_and_reverted(self, team: Team) -> None:
        base = team.repo.head()
        made = team.new("Ümlaut & more / words", description="Why.")
        assert made["branch"].startswith("galley/umlaut-more-words-")
        assert made["branch"].endswith(made["id"][-8:])
        assert (made["state"], made["base_sha"], made["head_sha"], made["files"]) == ("draft", base, base, 0)
        saved = team.commit(made, update(PAGE, NEW)).ok(201)
        assert team.read(made) | {"head_sha": saved["commit_sha"], "files": 1, "state": "draft"} == team.read(made)
        assert team.call(made, "submit").ok()["state"] == "in_review"
        team.call(made, "publish").fails(409, "NOT_APPROVED")
        approved = team.call(made, "reviews", {"verdict": "approve", "body": "Good."}, by=team.reviewer).ok(201)
        assert (approved["change_set"]["state"], approved["change_set"]["approvals"]) == ("approved", 1)
        published = team.call(made, "publish").ok()
        assert published["state"] == "published"
        assert team.repo.show(PAGE).decode() == NEW
        assert team.repo.head() == published["published_sha"]
        assert team.repo.text("rev-parse", "HEAD^") == base
        message = team.repo.text("log", "-1", "--format=%B")
        assert message.startswith("Ümlaut & more / words\n\nWhy.\n\nCo-authored-by: ")
        assert message.rstrip().endswith(f"Galley-Change-Set: {made['id']}")
        team.world.work_off()
        assert made["branch"] not in team.repo.text("branch", "--format=%(refname:short)").split()
        files = team.owner.get(f"/change-set/{made['id']}/diff").ok()["files"]
        assert [(file["path"], file["status"]) for file in files] == [(PAGE, "modified")]
        undo = team.call(made, "revert").ok(201)
        assert (undo["reverts"], undo["state"], undo["files"]) == (made["id"], "draft", 1)
        assert team.read(made)["state"] == "published"
        team.call(undo, "submit").ok()
        team.call(undo, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        team.call(undo, "publish").ok()
        assert team.read(made)["state"] == "reverted"
        assert team.repo.text("rev-parse", "HEAD^{tree}") == team.repo.text("rev-parse", f"{base}^{{tree}}")


@on_all_hosts
class TestSteps:
    def test_commit_after_an_approval_needs_a_new_review(self, team: Team) -> None:
        made = team.approved()
        team.commit(made, update(OTHER, "# About\n\nThem.\n")).ok(201)
        assert team.read(made) | {"state": "in_review", "approvals": 0, "files": 2} == team.read(made)
        team.call(made, "publish").fails(409, "STALE_APPROVAL")
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        assert team.call(made, "publish").ok()["state"] == "published"

    def test_set_without_required_approvals_is_published_from_draft(self, team: Team) -> None:
        team.configure(required_approvals=0)
        made = team.edited()
        assert team.call(made, "publish").ok()["state"] == "published"
        team.call(made, "publish").fails(409, "ALREADY_PUBLISHED")
        team.owner.delete(f"/change-set/{made['id']}").fails(409, "STATE")

    def test_requested_changes_need_a_submission(self, team: Team) -> None:
        made = team.approved()
        changed = team.call(made, "reviews", {"verdict": "changes", "body": "No."}, by=team.admin).ok(201)
        assert (changed["change_set"]["state"], changed["change_set"]["approvals"]) == ("changes_requested", 0)
        answer = team.call(made, "reviews", {"verdict": "approve"}, by=team.admin).fails(409, "STATE")
        assert answer["result"] == {"state": "changes_requested", "permitted": ["approved", "failed", "in_review"]}
        assert team.call(made, "submit").ok()["state"] == "in_review"
        team.call(made, "publish").fails(409, "NOT_APPROVED")
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        assert team.read(made)["state"] == "approved"

    def test_two_approvals_of_one_person_count_once(self, team: Team) -> None:
        team.configure(required_approvals=2)
        made = team.edited()
        team.call(made, "submit").ok()
        for _ in range(2):
            set_ = team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)["change_set"]
            assert (set_["state"], set_["approvals"]) == ("in_review", 1)
        assert (
            team.call(made, "reviews", {"verdict": "approve"}, by=team.admin).ok(201)["change_set"]["state"]
            == "approved"
        )

    def test_authors_do_not_approve_their_own_changes(self, team: Team) -> None:
        made = team.edited()
        team.commit(made, update(OTHER, "# About\n\nThem.\n"), by=team.admin).ok(201)
        team.call(made, "submit").ok()
        for person in (team.editor, team.admin):
            for verdict in ("approve", "changes"):
                team.call(made, "reviews", {"verdict": verdict}, by=person).fails(403, "OWN_REVIEW")
            team.call(made, "reviews", {"verdict": "comment", "body": "Mine."}, by=person).ok(201)
        refused = team.call(made, "reviews", {"verdict": "approve"}, by=team.admin).fails(403, "OWN_REVIEW")
        assert "invite a reviewer" in refused["message"]
        message = f"Push\n\nCo-authored-by: O <{team.owner.email.upper()}>"
        team.repo.commit({OTHER: b"# About\n\nPushed.\n"}, message, branch=made["branch"])
        team.call(made, "reviews", {"verdict": "approve"}, by=team.owner).fails(403, "OWN_REVIEW")

    @pytest.mark.parametrize("way", ["save", "new branch"])
    def test_writers_of_the_branch_are_authors(self, team: Team, way: str) -> None:
        # Commits of members with this preference do not name them.
        team.reviewer.patch(f"/user-preference/{team.reviewer.id}", {"impersonate": True}).ok()
        made = team.approved()
        other = made["branch"] if way == "save" else "other"
        if way == "new branch":
            team.reviewer.post(f"/project/{team.project}/branches", {"branch": other}).ok(201)
        body = {"message": "Mine", "branch": other, "base_sha": team.repo.head(other)}
        files = [update(OTHER, "# About\n\nThem.\n")]
        team.reviewer.post(f"/project-content/{team.project}/commit", body | {"files": files}).ok(201)
        if way == "new branch":
            team.reviewer.delete(f"/project/{team.project}/branches/{made['branch']}").ok()
            start = {"branch": made["branch"], "from": other}
            team.reviewer.again().post(f"/project/{team.project}/branches", start).ok(201)
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).fails(403, "OWN_REVIEW")
        team.call(made, "publish").fails(409, "NOT_APPROVED")

    def test_approval_of_a_later_author_does_not_count(self, team: Team) -> None:
        made = team.approved()
        with team.world.app.app_context():
            service.add_author(made["id"], team.reviewer.id)
            db.session.commit()
        team.call(made, "publish").fails(409, "NOT_APPROVED")
        team.call(made, "reviews", {"verdict": "approve"}, by=team.admin).ok(201)
        team.call(made, "publish").ok()

    @pytest.mark.parametrize("is_published", [False, True])
    def test_working_branch_is_not_deleted(self, team: Team, *, is_published: bool) -> None:
        made = team.approved()
        project = team.owner.get(f"/project/{team.project}").ok()
        values = {"provider": project["provider"], "branch": made["branch"]}
        team.owner.again().new_project(team.organization, project["repository"], **values)
        if is_published:
            team.call(made, "publish").ok()
            team.world.work_off()
        else:
            team.editor.delete(f"/change-set/{made['id']}").ok()
        assert team.repo.head(made["branch"]) == made["head_sha"]

    def test_review_of_an_older_head_is_refused(self, team: Team) -> None:
        made = team.edited()
        team.call(made, "submit").ok()
        team.commit(made, update(OTHER, "# About\n\nThem.\n")).ok(201)
        body = {"verdict": "approve", "head_sha": made["head_sha"]}
        team.call(made, "reviews", body, by=team.reviewer).fails(409, "STALE_APPROVAL")

    def test_closed_set_loses_its_branch_and_does_not_open(self, team: Team) -> None:
        made = team.edited()
        closed = team.owner.delete(f"/change-set/{made['id']}").ok()
        assert closed["state"] == "closed"
        assert made["branch"] not in team.repo.text("branch", "--format=%(refname:short)")
        assert team.read(made)["state"] == "closed"
        for step in ("submit", "publish", "revert"):
            team.call(made, step).fails(409, "STATE")
        team.commit(made, update(OTHER, "x"), base_sha=made["head_sha"]).fails(409, "STATE")
        team.owner.get(f"/change-set/{made['id']}/diff").fails(409, "BRANCH_GONE")

    def test_set_without_a_change_is_not_published(self, team: Team) -> None:
        team.configure(required_approvals=0)
        made = team.new()
        team.call(made, "publish").fails(409, "NOTHING_TO_PUBLISH")
        edited = team.edited()
        team.repo.commit({PAGE: NEW.encode()})
        team.call(edited, "publish").fails(409, "NOTHING_TO_PUBLISH")
        assert team.read(edited)["state"] == "draft"

    def test_deleted_branch_is_reported(self, team: Team) -> None:
        made = team.edited()
        team.repo.git("branch", "-D", made["branch"])
        team.call(made, "submit").fails(409, "BRANCH_GONE")
        team.call(made, "publish").fails(409, "BRANCH_GONE")
        assert team.owner.delete(f"/change-set/{made['id']}").ok()["state"] == "closed"

    def test_title_and_description_change_with_if_match(self, team: Team) -> None:
        made = team.new()
        path = f"/change-set/{made['id']}"
        tag = team.editor.get(path).headers["ETag"]
        changed = team.editor.patch(path, {"title": "Other", "description": "More"}, headers={"If-Match": tag}).ok()
        assert (changed["title"], changed["description"], changed["version"]) == ("Other", "More", made["version"] + 1)
        team.editor.patch(path, {"title": "Third"}, headers={"If-Match": tag}).fails(412)
        assert team.editor.patch(path, {"description": None}).ok()["description"] is None


@on_all_hosts
class TestMerge:
    def test_publication_merges_fields_that_changed_on_the_site(self, team: Team) -> None:
        team.configure(required_approvals=0)
        made = team.edited()
        team.repo.commit({PAGE: TEXT.replace("title: Hello", "title: Theirs").encode()})
        team.call(made, "publish").ok()
        assert team.repo.show(PAGE).decode() == NEW.replace("title: Hello", "title: Theirs")

    def test_conflict_keeps_the_state_and_can_be_resolved(self, team: Team) -> None:
        made = team.approved(text=TEXT.replace("title: Hello", "title: Mine").replace("First", "My"))
        theirs = TEXT.replace("title: Hello", "title: Theirs").replace("Second", "Their")
        head = team.repo.commit({PAGE: theirs.encode()})
        error = team.call(made, "publish").fails(409, "CONFLICT", PAGE)
        [conflict] = error["result"]["conflicts"]
        assert (conflict["pointer"], conflict["mine"], conflict["theirs"]) == ("/title", "Mine", "Theirs")
        assert team.read(made)["state"] == "approved"
        team.call(made, "update").fails(409, "CONFLICT")
        resolution = {"path": PAGE, "pointer": "/title", "take": "value", "value": "Both"}
        resolved = team.call(made, "resolve", {"resolutions": [resolution]}).ok()
        assert (resolved["state"], resolved["base_sha"], resolved["files"]) == ("in_review", head, 1)
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        team.call(made, "publish").ok()
        expected = theirs.replace("title: Theirs", "title: Both").replace("First", "My")
        assert team.repo.show(PAGE).decode() == expected

    @pytest.mark.parametrize(
        ("take", "result"),
        [("mine", "Mine"), ("theirs", "Theirs")],
    )
    def test_sides_of_a_conflict_can_be_taken(self, team: Team, take: str, result: str) -> None:
        made = team.edited(text=TEXT.replace("title: Hello", "title: Mine").replace("First words", "My words"))
        team.repo.commit(
            {PAGE: TEXT.replace("title: Hello", "title: Theirs").replace("First words", "Their words").encode()}
        )
        resolutions = [{"path": PAGE, "pointer": "/title", "take": take}]
        team.call(made, "resolve", {"resolutions": resolutions}).fails(409, "CONFLICT", PAGE)
        resolutions.append({"path": PAGE, "block": 0, "take": take})
        team.call(made, "resolve", {"resolutions": resolutions}).ok()
        text = team.repo.show(PAGE, made["branch"]).decode()
        assert text == TEXT.replace("title: Hello", f"title: {result}").replace(
            "First", {"Mine": "My", "Theirs": "Their"}[result]
        )

    def test_update_reaches_the_index_of_the_branch(self, team: Team) -> None:
        made, raw = team.edited(), f"/project-content/{team.project}/raw"
        query = {"file": OTHER, "ref": made["branch"]}
        team.editor.get(raw, query_string=query)
        team.world.work_off()
        team.repo.commit({OTHER: b"# About\n\nNew.\n"})
        team.call(made, "update").ok()
        team.world.work_off()
        assert b"New." in team.editor.again().get(raw, query_string=query).response.data

    def test_whole_file_can_be_resolved(self, team: Team) -> None:
        made = team.new()
        team.commit(made, {"path": PAGE, "action": "delete"}).ok(201)
        team.repo.commit({PAGE: TEXT.replace("First", "Their").encode()})
        team.call(made, "update").fails(409, "CONFLICT", PAGE)
        resolved = team.call(made, "resolve", {"resolutions": [{"path": PAGE, "take": "mine"}]}).ok()
        assert resolved["files"] == 1
        assert PAGE not in team.repo.entries(made["branch"])

    def test_resolution_without_a_conflict_is_named(self, team: Team) -> None:
        made = team.edited(text=TEXT.replace("title: Hello", "title: Mine"))
        team.repo.commit({PAGE: TEXT.replace("title: Hello", "title: Theirs").encode()})
        valid = {"path": PAGE, "pointer": "/title", "take": "mine"}
        for wrong, field in (
            ({"path": PAGE, "pointer": "/titel", "take": "mine"}, "resolutions.1.pointer"),
            ({"path": PAGE, "block": 7, "take": "mine"}, "resolutions.1.block"),
            ({"path": OTHER, "take": "theirs"}, "resolutions.1.path"),
        ):
            refused = team.call(made, "resolve", {"resolutions": [valid, wrong]}, by=team.reviewer)
            refused.fails(400, "VALIDATION_FAILED", field)
        team.call(made, "resolve", {"resolutions": [valid]}).ok()
        team.call(made, "submit").ok()
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)

    def test_resolution_after_another_person_has_resolved_the_conflict_is_refused(self, team: Team) -> None:
        made = team.edited(text=TEXT.replace("title: Hello", "title: Mine"))
        team.repo.commit({PAGE: TEXT.replace("title: Hello", "title: Theirs").encode()})
        body = {"resolutions": [{"path": PAGE, "pointer": "/title", "take": "mine"}], "site_sha": team.repo.head()}
        head = team.call(made, "resolve", body).ok()["head_sha"]
        body["resolutions"] = [{"path": PAGE, "pointer": "/title", "take": "theirs"}]
        team.call(made, "resolve", body, by=team.reviewer).fails(400, "VALIDATION_FAILED", "resolutions.0.pointer")
        assert team.repo.head(made["branch"]) == team.read(made)["head_sha"] == head
        team.call(made, "submit").ok()
        team.call(made, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)

    def test_unrecorded_resolution_can_be_repeated(self, team: Team) -> None:
        made = team.edited(text=TEXT.replace("title: Hello", "title: Mine"))
        team.repo.commit({PAGE: TEXT.replace("title: Hello", "title: Theirs").encode()})
        body = {"resolutions": [{"path": PAGE, "pointer": "/title", "take": "mine"}]}
        before = team.read(made)["head_sha"]
        head = team.call(made, "resolve", body).ok()["head_sha"]
        with team.world.app.app_context():
            db.session.execute(sa.update(ChangeSet).where(ChangeSet.id == made["id"]).values(head_sha=before))
            db.session.commit()
        assert team.call(made, "resolve", body).ok()["head_sha"] == head == team.repo.head(made["branch"])

    def test_mode_of_a_file_is_merged_with_its_text(self, team: Team) -> None:
        team.configure(required_approvals=0)
        text = "#!/bin/sh\n\nfirst\n\nsecond\n\nthird\n"
        team.repo.commit({name: ("100644", text.encode()) for name in ("mine.sh", "theirs.sh", "only.sh")})
        made = team.new()
        changed = text.replace("third", "THIRD").encode()
        team.repo.commit(
            {"mine.sh": ("100755", changed), "theirs.sh": ("100644", changed), "only.sh": ("100755", text.encode())},
            branch=made["branch"],
        )
        other = text.replace("first", "FIRST").encode()
        team.repo.commit(
            {"mine.sh": ("100644", other), "theirs.sh": ("100755", text.encode()), "only.sh": ("100644", other)}
        )
        team.call(made, "publish").ok()
        modes = {name: entry[1] for name, entry in team.repo.entries("main").items() if name.endswith(".sh")}
        assert modes == dict.fromkeys(("mine.sh", "theirs.sh", "only.sh"), "100755")
        assert team.repo.show("mine.sh") == text.replace("first", "FIRST").replace("third", "THIRD").encode()
        assert (team.repo.show("theirs.sh"), team.repo.show("only.sh")) == (changed, other)

    def test_set_follows_the_rename_of_a_page(self, team: Team) -> None:
        team.configure(required_approvals=0)
        made, renamed = team.edited(), TEXT.replace("title: Hello", "title: Theirs").encode()
        team.repo.commit({PAGE: None, "content/home.md": renamed})
        team.call(made, "publish").ok()
        assert team.repo.show("content/home.md").decode() == NEW.replace("title: Hello", "title: Theirs")
        assert PAGE not in team.repo.entries("main")

    def test_conflict_of_a_renamed_page_is_resolved_at_its_present_path(self, team: Team) -> None:
        team.configure(required_approvals=0)
        made = team.edited(text=TEXT.replace("title: Hello", "title: Mine"))
        team.repo.commit({PAGE: None, "content/home.md": TEXT.replace("title: Hello", "title: Theirs").encode()})
        error = team.call(made, "publish").fails(409, "CONFLICT", "content/home.md")
        assert "Nothing was published" in error["message"]
        team.call(made, "resolve", {"resolutions": [{"path": "content/home.md", "take": "mine"}]}).ok()
        team.call(made, "publish").ok()
        assert team.repo.show("content/home.md").decode() == TEXT.replace("title: Hello", "title: Mine")
        assert PAGE not in team.repo.entries("main")

    def test_update_without_a_conflict_brings_all_files(self, team: Team) -> None:
        made = team.edited()
        head = team.repo.commit({OTHER: b"# New\n", "new.md": b"x\n"})
        updated = team.call(made, "update").ok()
        assert (updated["base_sha"], updated["files"], updated["state"]) == (head, 1, "draft")
        assert team.repo.show("new.md", made["branch"]) == b"x\n"
        assert team.repo.show(PAGE, made["branch"]).decode() == NEW
        assert team.repo.text("merge-base", "main", made["branch"]) == head
        assert team.call(made, "update").ok()["head_sha"] == updated["head_sha"]


@on_all_hosts
class TestRevert:
    def test_revert_on_a_moved_base_touches_only_paths_of_the_set(self, team: Team) -> None:
        made = team.published()
        team.repo.commit({OTHER: b"# Other\n", PAGE: NEW.replace("Second", "Later").encode()})
        undo = team.call(made, "revert").ok(201)
        files = team.owner.get(f"/change-set/{undo['id']}/diff").ok()["files"]
        assert [file["path"] for file in files] == [PAGE]
        assert team.repo.show(PAGE, undo["branch"]).decode() == TEXT.replace("Second", "Later")

    def test_conflicting_revert_writes_nothing(self, team: Team) -> None:
        made = team.published()
        team.repo.commit({PAGE: NEW.replace("New", "Later").encode()})
        branches = team.repo.text("branch", "--format=%(refname:short)")
        team.call(made, "revert").fails(409, "CONFLICT", PAGE)
        assert team.repo.text("branch", "--format=%(refname:short)") == branches


class TestSecondRevert:
    def test_second_revert_names_the_first_until_it_is_closed(self, team: Team) -> None:
        made = team.published()
        first = team.call(made, "revert").ok(201)
        branches = team.repo.text("branch", "--format=%(refname:short)")
        answer = team.call(made, "revert").fails(409, "REVERT_EXISTS")
        assert answer["result"] == {"change_set_id": first["id"]}
        assert first["title"] in answer["message"]
        assert team.repo.text("branch", "--format=%(refname:short)") == branches
        team.editor.again().delete(f"/change-set/{first['id']}").ok()
        second = team.call(made, "revert").ok(201)
        team.call(second, "submit").ok()
        team.call(second, "reviews", {"verdict": "approve"}, by=team.reviewer).ok(201)
        team.call(second, "publish").ok()
        answer = team.call(made, "revert").fails(409, "REVERT_EXISTS")
        assert answer["result"] == {"change_set_id": second["id"]}

    def test_parallel_reverts_make_one_set(self, team: Team) -> None:
        made = team.published()
        answers = together([lambda: team.call(made, "revert")] * 3)
        assert sorted(answer.status for answer in answers) == [201, 409, 409]


class TestPush:
    def push(self, team: Team, branch: str, before: str, after: str | None) -> None:
        """Record a push to the local repository as the service for Git clients does."""
        repository = team.owner.get(f"/project/{team.project}").ok()["repository"]
        updates = [[branch, before, after]]
        run_job(
            team, "git_push.received", repository=repository, updates=updates, user_id=team.admin.id, token_id="tok_x"
        )
        team.world.work_off()

    def test_pushed_merged_and_deleted_branches_change_the_state(self, team: Team) -> None:
        pushed, merged = team.approved("Pushed", TEXT.replace("Second", "Pushed")), team.edited("Merged")
        deleted = team.edited("Deleted", TEXT.replace("Second", "Deleted"))
        base = team.repo.head()
        head = team.repo.commit({OTHER: b"# Pushed\n"}, branch=pushed["branch"])
        self.push(team, pushed["branch"], pushed["head_sha"], head)
        assert team.read(pushed) | {"state": "in_review", "head_sha": head, "files": 2} == team.read(pushed)
        team.repo.git("branch", "-D", deleted["branch"])
        self.push(team, deleted["branch"], deleted["head_sha"], None)
        assert team.read(deleted)["state"] == "closed"
        team.repo.git("update-ref", "refs/heads/main", merged["head_sha"])
        self.push(team, "main", base, merged["head_sha"])
        row = team.read(merged)
        assert (row["state"], row["published_sha"]) == ("published", merged["head_sha"])
        assert team.read(pushed)["state"] == "in_review"
        assert merged["branch"] not in team.repo.text("branch", "--format=%(refname:short)").split()


class TestAccess:
    def test_strangers_do_not_find_a_set(self, team: Team) -> None:
        made, unknown = team.new(), "chg_01jzzzzzzzzzzzzzzzzzzzzzzz"
        for set_id in (made["id"], unknown, "chg_x"):
            assert team.stranger.get(f"/change-set/{set_id}").fails(404)["message"] == "Change set not found"
        team.stranger.get(team.sets).fails(403)

    def test_publishers_may_be_limited_to_admins(self, team: Team) -> None:
        team.configure(publishers="admins", required_approvals=0)
        made = team.edited()
        team.call(made, "publish").fails(403, "NOT_ALLOWED")
        assert team.call(made, "publish", by=team.admin).ok()["state"] == "published"
        assert team.call(made, "revert").ok(201)["state"] == "draft"

    def test_tokens_create_and_publish_but_do_not_approve(self, team: Team) -> None:
        team.configure(required_approvals=0)
        token = program(team.editor, "read", "write", "publish", name="Robot")
        made = token.post(team.sets, {"title": "By a program"}).ok(201)
        assert made["created_by"]["token"] == "Robot"
        body = {"message": "Edit", "base_sha": made["head_sha"], "files": [update(PAGE, NEW)]}
        token.post(f"/change-set/{made['id']}/commit", body).ok(201)
        token.post(f"/change-set/{made['id']}/submit").ok()
        for verdict in ("approve", "changes"):
            token.post(f"/change-set/{made['id']}/reviews", {"verdict": verdict}).fails(403, "SESSION_REQUIRED")
        token.post(f"/change-set/{made['id']}/reviews", {"verdict": "comment", "body": "x"}).ok(201)
        assert token.post(f"/change-set/{made['id']}/publish").ok()["state"] == "published"

    @pytest.mark.parametrize("on_conflict", ["refuse", "merge"])
    def test_direct_commits_are_refused_if_sets_are_required(self, team: Team, on_conflict: str) -> None:
        team.configure(require_change_sets=True)
        head, path = team.repo.head(), f"/project-content/{team.project}"
        save = {"message": "Edit", "base_sha": head, "files": [update(PAGE, NEW)], "on_conflict": on_conflict}
        front_matter = {"file": PAGE, "base_sha": head, "set": {"title": "x"}, "on_conflict": on_conflict}
        for person in (team.owner, team.admin, team.editor):
            for branch in ({}, {"branch": "main"}):
                person.post(f"{path}/commit", save | branch).fails(403, "CHANGE_SET_REQUIRED")
                person.patch(f"{path}/front-matter", front_matter | branch).fails(403, "CHANGE_SET_REQUIRED")
        team.repo.git("branch", "free")
        team.owner.post(f"{path}/commit", save | {"branch": "free"}).ok(201)
        made = team.approved()
        team.call(made, "publish").ok()

    def test_setting_of_another_project_on_the_repository_counts(self, team: Team) -> None:
        name = team.owner.get(f"/project/{team.project}").ok()["repository"]
        team.repo.git("branch", "other")
        second = team.owner.new_project(team.organization, name, branch="other")
        team.configure(require_change_sets=True)
        save: dict[str, Any] = {"message": "Edit", "base_sha": team.repo.head(), "files": [update(PAGE, NEW)]}
        team.owner.post(f"/project-content/{second}/commit", save | {"branch": "main"}).fails(
            403, "CHANGE_SET_REQUIRED"
        )
