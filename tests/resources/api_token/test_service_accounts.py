"""Tests of the service accounts of an organization."""

import secrets

import pytest

from tests.support.tokens import Program, new_token, program
from tests.support.workspace import Workspace, make_workspace
from tests.support.world import Person, World


@pytest.fixture
def space(world: World) -> Workspace:
    return make_workspace(world)


def _member(world: World, space: Workspace, role: str) -> Person:
    who = world.person()
    space.me.patch(f"/organization/member/{space.org}", {"email": who.email, "role": role}).ok()
    return who


def _accounts(space: Workspace) -> str:
    return f"/organization/{space.org}/service-accounts"


class TestServiceAccounts:
    def test_accounts_are_shared_by_the_admins(self, world: World, space: Workspace) -> None:
        admin, editor = _member(world, space, "admin"), _member(world, space, "editor")
        made = new_token(admin, "read", organization=space.org)
        assert (made["org_id"], made["user_id"]) == (space.org, admin.id)
        [listed] = space.me.get(_accounts(space)).ok()
        assert listed["id"] == made["id"]
        assert admin.get("/tokens").ok() == []
        assert space.me.get(f"{_accounts(space)}/{made['id']}").ok()["name"] == "Deploy"
        editor.get(_accounts(space)).fails(403)
        world.person().post(_accounts(space), {"name": "A", "scopes": ["read"]}).fails(403)
        admin.get(f"/tokens/{made['id']}").fails(404)

    @pytest.mark.one_database
    def test_account_of_another_organization_returns_404(self, space: Workspace) -> None:
        made = new_token(space.me, organization=space.org)
        other = space.me.new_organization()
        space.me.get(f"/organization/{other}/service-accounts/{made['id']}").fails(404)
        space.me.get(f"{_accounts(space)}/{new_token(space.me)['id']}").fails(404)

    def test_account_reaches_only_its_organization(self, world: World, space: Workspace) -> None:
        bot, other = program(space.me, organization=space.org), space.me.new_organization()
        bot.get(f"/organization/{space.org}").ok()
        bot.get(f"/project/{space.project}").ok()
        for path in (f"/organization/{other}", "/organization/user", f"/user/{space.me.id}"):
            bot.get(path).fails(403, "TOKEN_PROJECT_NOT_PERMITTED")
        bot.patch(f"/project/move/{other}/{space.project}", {}).fails(403, "TOKEN_PROJECT_NOT_PERMITTED")

    @pytest.mark.one_database
    def test_create_with_project_of_another_organization_returns_400_with_path(
        self, world: World, space: Workspace
    ) -> None:
        body = {"name": "A", "scopes": ["read"], "projects": [space.project]}
        other = space.me.new_organization()
        space.me.post(f"/organization/{other}/service-accounts", body).fails(400, None, "projects.0")

    def test_account_of_a_former_member_is_revoked_until_rotation(self, world: World, space: Workspace) -> None:
        admin = _member(world, space, "admin")
        made = new_token(admin, organization=space.org)
        bot, path = Program(space.me.app, made["token"]), f"{_accounts(space)}/{made['id']}"
        bot.get(f"/project/{space.project}").ok()
        admin.patch(f"/organization/leave/{space.org}", {}).ok()
        bot.get(f"/project/{space.project}").fails(401, "INVALID_API_TOKEN")
        assert space.me.get(path).ok()["status"] == "revoked"
        rotated = space.me.post(f"{path}/rotate", {}).ok()
        assert (rotated["user_id"], rotated["status"]) == (space.me.id, "active")
        Program(space.me.app, rotated["token"]).get(f"/project/{space.project}").ok()
        bot.get(f"/project/{space.project}").fails(401)

    def test_account_is_limited_to_the_permissions_of_its_owner(self, world: World, space: Workspace) -> None:
        admin = _member(world, space, "admin")
        bot = program(admin, organization=space.org)
        bot.patch(f"/project/{space.project}", {"project_name": "One"}).ok()
        bot.delete(f"/organization/{space.org}").fails(403, "NOT_ALLOWED")
        space.me.patch(f"/organization/update-role/{space.org}", {"member_id": admin.id, "role": "editor"}).ok()
        bot.patch(f"/project/{space.project}", {"project_name": "Two"}).fails(403, "NOT_ALLOWED")

    def test_update_by_another_admin_changes_the_owner(self, world: World, space: Workspace) -> None:
        admin = _member(world, space, "admin")
        made = new_token(space.me, "read", organization=space.org)
        changed = admin.patch(f"{_accounts(space)}/{made['id']}", {"scopes": ["read", "admin"]}).ok()
        assert changed["user_id"] == admin.id
        Program(space.me.app, made["token"]).delete(f"/organization/{space.org}").fails(403, "NOT_ALLOWED")

    def test_deleted_account_returns_401(self, space: Workspace) -> None:
        made = new_token(space.me, organization=space.org)
        space.me.delete(f"{_accounts(space)}/{made['id']}").ok()
        Program(space.me.app, made["token"]).get(f"/project/{space.project}").fails(401)
        assert space.me.get(_accounts(space)).ok() == []


def _commit(bot: Program, space: Workspace, **more: object) -> str:
    file = {"path": f"content/{secrets.token_hex(4)}.md", "action": "create", "content": "# New\n"}
    base = space.git.head(str(more.get("branch", "main")))
    body = {"message": "Add a page", "base_sha": base, "files": [file]} | more
    return str(bot.post(f"/project-content/{space.project}/commit", body).ok(201)["commit_sha"])


class TestCommits:
    def test_commit_and_log_name_the_service_account(self, space: Workspace) -> None:
        made = new_token(space.me, "read", "write", "publish", organization=space.org, name="Nightly <import>")
        bot = Program(space.me.app, made["token"])
        sha = _commit(bot, space)
        message = space.git.text("log", "-1", "--format=%B", sha)
        assert f"Co-authored-by: Nightly import <{made['id']}@noreply." in message
        assert space.me.email not in message
        entry = space.me.get(f"/project-log/{space.project}").ok()["logs"][0]
        assert (entry["source"], entry["user_id"], entry["user_name"]) == ("token", None, "Nightly <import>")
        assert (entry["token"], entry["commit_sha"]) == ({"id": made["id"], "name": "Nightly <import>"}, sha)

    def test_commit_and_log_name_the_owner_of_a_personal_token(self, space: Workspace) -> None:
        made = new_token(space.me, "read", "write", "publish")
        bot = Program(space.me.app, made["token"])
        assert f"<{space.me.email}>" in space.git.text("log", "-1", "--format=%B", _commit(bot, space))
        bot.post(f"/project-log/{space.project}", {"action": "update", "file": "a.md"}).ok(201)
        for entry in space.me.get(f"/project-log/{space.project}").ok()["logs"][:2]:
            assert (entry["source"], entry["user_id"], entry["token"]["id"]) == ("token", space.me.id, made["id"])
        space.me.post(f"/project-log/{space.project}", {"action": "update", "file": "b.md"}).ok(201)
        entry = space.me.get(f"/project-log/{space.project}").ok()["logs"][0]
        assert (entry["source"], "token" in entry) == ("client", False)

    def test_working_branch_needs_publish_and_other_branches_need_write(self, space: Workspace) -> None:
        space.git.git("branch", "next", "main")
        writer, publisher = program(space.me, "write"), program(space.me, "publish")
        _commit(writer, space, branch="next")
        _commit(publisher, space)
        path = f"/project-content/{space.project}"
        file = {"path": "content/a.md", "action": "create", "content": "x"}
        body = {"message": "Add", "base_sha": space.git.head("main"), "files": [file]}
        before = space.git.head("main")
        for branch in ({}, {"branch": "main"}):
            writer.post(f"{path}/commit", body | branch).fails(403, "TOKEN_SCOPE_MISSING")
            edit = {"file": "content/posts/hello.md", "base_sha": before, "set": {"title": "T"}} | branch
            writer.patch(f"{path}/front-matter", edit).fails(403, "TOKEN_SCOPE_MISSING")
        publisher.post(f"{path}/commit", body | {"branch": "next"}).fails(403, "TOKEN_SCOPE_MISSING")
        writer.post(f"/project/{space.project}/pull-requests/1/merge", {}).fails(403, "TOKEN_SCOPE_MISSING")
        assert space.git.head("main") == before


class TestEndOfMembership:
    def test_restricted_personal_token_loses_the_projects_of_the_organization(
        self, world: World, space: Workspace
    ) -> None:
        editor, other = _member(world, space, "editor"), make_workspace(world)
        other.me.patch(f"/organization/member/{other.org}", {"email": editor.email, "role": "editor"}).ok()
        both = new_token(editor, "read", projects=[space.project, other.project])
        one = new_token(editor, "read", projects=[space.project])
        space.me.patch(f"/organization/remove-member/{space.org}", {"member_id": editor.id}).ok()
        space.me.patch(f"/organization/member/{space.org}", {"email": editor.email, "role": "editor"}).ok()
        shown = {item["id"]: item for item in editor.get("/tokens").ok()}
        assert (shown[both["id"]]["projects"], shown[both["id"]]["status"]) == ([other.project], "active")
        assert shown[one["id"]]["status"] == "revoked"
        Program(editor.app, one["token"]).get(f"/project/{space.project}").fails(401)
        bot = Program(editor.app, both["token"])
        bot.get(f"/project/{space.project}").fails(403, "TOKEN_PROJECT_NOT_PERMITTED")
        bot.get(f"/project/{other.project}").ok()
