"""Tests of the routes of projects."""

from typing import Any

import pytest
from flask import Flask

from app.core.permissions import Role
from app.extensions import db
from app.models.project import Generator, Project, Provider
from app.models.user import User
from app.resources.project import schemas
from app.resources.user.events import user_deleting
from tests.support.assertions.statements import counted
from tests.support.factories import organization, project, repository
from tests.support.samples.gitrepo import Content
from tests.support.samples.sites import SMALL
from tests.support.workspace import Workspace
from tests.support.world import Person, World


def create(me: Person, org: str, repo: str, **more: Any) -> Any:
    body = {"org_id": org, "project_name": "Site", "provider": "local", "repository": repo, "branch": "main"}
    return me.post("/project/create", body | more)


class TestCreate:
    def test_create_on_readable_branch_connects_and_indexes_the_branch(self, world: World) -> None:
        me = world.person()
        org, (name, git) = me.new_organization(), repository(world, SMALL)
        paths = {"content": "content", "media": "static", "public": "public"}
        created = create(me, org, name, paths=paths, site_url="https://example.com/", provider="Local").ok(201)
        assert set(created) == set(schemas.ProjectSchema().fields)
        assert (created["org_id"], created["user_id"], created["provider"]) == (org, me.id, "local")
        assert (created["generator"], created["framework"], created["paths"]) == ("hugo", "hugo", paths)
        assert created["connection"] == {"status": "active", "connected_by": me.id, "account": None}
        assert created["index"] == {"status": "queued", "commit_sha": None, "indexed_at": None, "files": 0}
        assert me.get(f"/project/{created['project_id']}").ok() == created
        world.work_off()
        index = me.get(f"/project/{created['project_id']}").ok()["index"]
        assert (index["status"], index["commit_sha"], index["files"]) == ("ready", git.head("main"), len(SMALL))

    def test_create_with_generator_and_framework_stores_both(self, world: World) -> None:
        me = world.person()
        name, _ = repository(world, SMALL)
        created = create(me, me.new_organization(), name, generator="astro", framework="vue").ok(201)
        assert (created["generator"], created["framework"]) == ("astro", "vue")

    def test_create_with_preview_network_stores_the_network(self, world: World) -> None:
        me = world.person()
        name, _ = repository(world, SMALL)
        assert create(me, me.new_organization(), name, preview_network=True).ok(201)["preview_network"] is True

    @pytest.mark.parametrize(
        ("files", "kind"),
        [
            ({"package.json": b'{"dependencies": {"next": "14"}}', "app/page.tsx": b"x"}, ("nextjs", "react")),
            ({"_config.yml": b"title: x\n", "_posts/2024-01-01-a.md": b"---\n---\n"}, ("jekyll", "jekyll")),
            ({"mkdocs.yml": b"site_name: x\n", "docs/index.md": b"x"}, ("mkdocs", "mkdocs")),
            ({"docs/conf.py": b"", "docs/index.rst": b"x"}, ("sphinx", "sphinx")),
            ({"a/b/c/d/e.txt": b"deep\n"}, (None, None)),
        ],
    )
    def test_create_without_generator_detects_the_generator(
        self, world: World, files: dict[str, Content], kind: tuple[str, str]
    ) -> None:
        me = world.person()
        created = create(me, me.new_organization(), repository(world, files)[0]).ok(201)
        assert (created["generator"], created["framework"]) == kind

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"provider": "svn"}, "provider"),
            ({"project_name": ""}, "project_name"),
            ({"project_name": "Site\ntwo"}, "project_name"),
            ({"generator": "word"}, "generator"),
            ({"visibility": "secret"}, "visibility"),
            ({"branch": "a..b"}, "branch"),
            ({"branch": 7}, "branch"),
            ({"repository": ["a"]}, "repository"),
            ({"paths": "content"}, "paths"),
            ({"paths": {"content": "../out"}}, "paths.content"),
            ({"site_url": "javascript:alert(1)"}, "site_url"),
            ({"org_id": "nonsense"}, "org_id"),
        ],
    )
    def test_create_with_invalid_value_returns_400_with_path(
        self, workspace: Workspace, change: dict[str, Any], path: str
    ) -> None:
        create(workspace.me, workspace.org, workspace.repository, **change).fails(400, "VALIDATION_FAILED", path)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "change", [{"repository": "acme/nope"}, {"repository": "../etc"}, {"branch": "nope"}, {"provider": "github"}]
    )
    def test_create_with_unreadable_repository_returns_422(self, workspace: Workspace, change: dict[str, str]) -> None:
        create(workspace.me, workspace.org, workspace.repository, **change).fails(422, "REPO_UNAVAILABLE")

    def test_existing_name_in_the_organization_returns_409(self, workspace: Workspace) -> None:
        create(workspace.me, workspace.org, workspace.repository).ok(201)
        create(workspace.me, workspace.org, workspace.repository).fails(409, "NAME_TAKEN")

    def test_create_in_archived_organization_returns_409(self, workspace: Workspace) -> None:
        workspace.me.patch(f"/organization/status/{workspace.org}", {"status": "archived"}).ok()
        create(workspace.me, workspace.org, workspace.repository).fails(409, "ARCHIVED")

    def test_create_above_the_limit_of_the_owner_returns_403(self, world: World) -> None:
        me = world.person()
        for _ in range(4):
            org, (name, _) = organization(world, me), repository(world, SMALL)
            for _ in range(25):
                project(world, me, org, name)
        fresh = me.new_organization()
        create(me, fresh, repository(world, SMALL)[0]).fails(403, "LIMIT_REACHED")

    def test_create_with_empty_optional_fields_ignores_them(self, workspace: Workspace) -> None:
        names = ("repository_id", "generator", "framework", "visibility", "site_url", "project_image", "paths")
        created = create(workspace.me, workspace.org, workspace.repository, **dict.fromkeys(names, "")).ok(201)
        assert (created["generator"], created["framework"], created["visibility"]) == ("hugo", "hugo", "private")
        assert (created["site_url"], created["project_image"]) == (None, None)

    def test_create_repeated_with_an_idempotency_key_creates_one_project(self, workspace: Workspace) -> None:
        body = {"org_id": workspace.org, "project_name": "Once", "provider": "local", "branch": "main"}
        send = {"headers": {"Idempotency-Key": "one-and-the-same"}}
        first, second = (
            workspace.me.post("/project/create", body | {"repository": workspace.repository}, **send) for _ in range(2)
        )
        assert first.ok(201) == second.ok(201)
        assert second.headers["Idempotency-Replayed"] == "true"


class TestLocalRepositories:
    def test_local_repository_belongs_to_the_first_connected_organization(
        self, workspace: Workspace, world: World
    ) -> None:
        stranger = world.person()
        create(workspace.me, workspace.org, workspace.repository).ok(201)
        for who in (stranger, workspace.me):
            create(who, who.new_organization(), workspace.repository).fails(422, "REPO_UNAVAILABLE")
        theirs = stranger.new_project(stranger.new_organization(), repository(world, SMALL)[0])
        body = {"repository": workspace.repository}
        stranger.patch(f"/project/git/{theirs}", body).fails(422, "REPO_UNAVAILABLE")

    def test_local_repository_moves_with_its_project(self, workspace: Workspace) -> None:
        me = workspace.me
        behind, target = me.new_project(workspace.org, workspace.repository), me.new_organization()
        moved = me.patch(f"/project/move/{target}/{workspace.project}").ok()
        assert (moved["org_id"], moved["connection"]["status"]) == (target, "active")
        me.get(f"/project/{workspace.project}/branches").ok()
        assert me.get(f"/project/{behind}").ok()["connection"]["status"] == "needs_reconnect"
        me.get(f"/project/{behind}/branches").fails(422, "REPO_UNAVAILABLE")
        me.patch(f"/project/git/{behind}", {}).fails(422, "REPO_UNAVAILABLE")


class TestRead:
    def test_read_of_a_project_runs_one_statement_for_session_and_project(
        self, app: Flask, workspace: Workspace
    ) -> None:
        with counted(app) as statements:
            workspace.me.get(f"/project/{workspace.project}").ok()
        assert len(statements) == 1, statements

    def test_list_runs_one_statement_besides_that_of_session_and_membership(
        self, app: Flask, workspace: Workspace
    ) -> None:
        for _ in range(5):
            workspace.me.new_project(workspace.org, workspace.repository)
        with counted(app) as statements:
            assert len(workspace.me.get(f"/project/orgs/{workspace.org}").ok()) == 6
        assert len(statements) == 2, statements

    def test_list_filters_by_status(self, workspace: Workspace) -> None:
        me, org = workspace.me, workspace.org
        second = me.new_project(org, workspace.repository)
        me.patch(f"/project/status/{second}", {"status": "archived"}).ok()
        values = {
            query: {one["project_id"] for one in me.get(f"/project/orgs/{org}{query}").ok()}
            for query in ("", "?status=active", "?status=archived", "?status=all")
        }
        assert values == {
            "": {workspace.project},
            "?status=active": {workspace.project},
            "?status=archived": {second},
            "?status=all": {workspace.project, second},
        }
        me.get(f"/project/orgs/{org}?status=gone").fails(400, None, "status")

    def test_list_contains_the_object_of_the_single_response(self, workspace: Workspace) -> None:
        single = workspace.me.get(f"/project/{workspace.project}").ok()
        assert workspace.me.get(f"/project/orgs/{workspace.org}").ok() == [single]

    def test_list_of_a_user_contains_projects_of_owned_organizations(self, world: World, workspace: Workspace) -> None:
        editor = world.person()
        body = {"email": editor.email, "role": "editor"}
        workspace.me.patch(f"/organization/member/{workspace.org}", body).ok()
        assert editor.get(f"/project/user/{editor.id}").ok() == []
        (mine,) = workspace.me.get(f"/project/user/{workspace.me.id}").ok()
        assert mine["project_id"] == workspace.project

    def test_read_with_matching_etag_returns_304(self, workspace: Workspace) -> None:
        path = f"/project/{workspace.project}"
        tag = workspace.me.get(path).headers["ETag"]
        assert workspace.me.client.get(f"/api/v1{path}", headers={"If-None-Match": tag}).status_code == 304


class TestUpdate:
    def test_update_changes_only_the_given_writable_fields(self, workspace: Workspace) -> None:
        me, path = workspace.me, f"/project/{workspace.project}"
        before = me.get(path).ok()
        writable = {field.data_key or name for name, field in schemas.UpdateProjectBody.schema().fields.items()}
        forged = {
            **{column.key: "forged" for column in Project.__table__.c if column.key not in writable},
            "org_id": "org_x",
            "project_id": "prj_x",
            "connection": {},
            "index": {},
            "createdAt": 1,
        }
        good = {"project_name": "Renamed", "paths": {"media": "static"}}
        after = me.patch(path, {key: value for key, value in forged.items() if key != "paths"} | good).ok()
        assert {key for key in before if before[key] != after[key]} <= {"project_name", "paths", "updatedAt"}
        assert after["paths"] == {"content": None, "media": "static", "public": None}
        assert me.patch(path, {"paths": {"content": "src"}}).ok()["paths"]["media"] == "static"
        typed = {"content": "src/content/", "media": "/", "public": ""}
        kept = {"content": "src/content", "media": "", "public": ""}
        assert me.patch(path, {"paths": typed}).ok()["paths"] == kept
        me.patch(path, {"paths": {"content": "src//"}}).fails(400, None, "paths.content")

    def test_existing_name_in_the_organization_returns_409(self, workspace: Workspace) -> None:
        create(workspace.me, workspace.org, workspace.repository, project_name="Taken").ok(201)
        workspace.me.patch(f"/project/{workspace.project}", {"project_name": "Taken"}).fails(409, "NAME_TAKEN")

    def test_update_with_empty_site_url_stores_null(self, workspace: Workspace) -> None:
        path = f"/project/{workspace.project}"
        assert workspace.me.patch(path, {"site_url": "http://localhost:1313/"}).ok()["site_url"]
        assert workspace.me.patch(path, {"site_url": ""}).ok()["site_url"] is None

    def test_update_with_empty_strings_stores_null(self, workspace: Workspace) -> None:
        path, fields = f"/project/{workspace.project}", ("site_url", "framework", "project_image")
        workspace.me.patch(path, {"framework": "hugo"}).ok()
        changed = workspace.me.patch(path, dict.fromkeys(fields, "")).ok()
        assert [changed[name] for name in fields] == [None, None, None]

    def test_update_trims_the_name(self, workspace: Workspace) -> None:
        path = f"/project/{workspace.project}"
        assert workspace.me.patch(path, {"project_name": "  Site  "}).ok()["project_name"] == "Site"

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("field", "default", "good", "bad"),
        [
            ("publishers", "editors", ["admins", "editors"], ["owners", None, 1]),
            ("required_approvals", 1, [0, 5], [-1, 6, "1", None, 1.5, True]),
            ("change_set_prefix", "galley", ["sets/of-team", "ä"], ["a b", "/x", "x/", "a..b", "refs/x", "x" * 101]),
            ("require_change_sets", False, [True, False], [1, "yes", None]),
        ],
    )
    def test_settings_of_change_sets_are_validated(
        self, workspace: Workspace, field: str, default: object, good: list[Any], bad: list[Any]
    ) -> None:
        path = f"/project/{workspace.project}"
        assert workspace.me.get(path).ok()[field] == default
        for value in bad:
            workspace.me.patch(path, {field: value}).fails(400, None, field)
        assert [workspace.me.patch(path, {field: value}).ok()[field] for value in good] == good

    def test_update_with_stale_if_match_returns_412(self, workspace: Workspace) -> None:
        path = f"/project/{workspace.project}"
        tag = workspace.me.get(path).headers["ETag"]
        workspace.me.patch(path, {"project_name": "One"}, headers={"If-Match": tag}).ok()
        workspace.me.patch(path, {"project_name": "Two"}, headers={"If-Match": tag}).fails(412)
        move = f"/project/move/{workspace.me.new_organization()}/{workspace.project}"
        workspace.me.patch(move, headers={"If-Match": tag}).fails(412)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("field", "good", "bad"),
        [
            ("visibility", ["public", "private"], ["hidden", None, 1]),
            ("status", ["archived", "active"], ["gone", None]),
            ("generator", [*map(str, Generator), None], ["Hugo!", 5]),
        ],
    )
    def test_invalid_setting_returns_400_with_path(
        self, workspace: Workspace, field: str, good: list[Any], bad: list[Any]
    ) -> None:
        path = f"/project/{field}/{workspace.project}"
        assert [workspace.me.patch(path, {field: value}).ok()[field] for value in good] == good
        for body in ({}, *({field: value} for value in bad)):
            workspace.me.patch(path, body).fails(400, "VALIDATION_FAILED", field)

    def test_empty_generator_is_stored_as_null(self, workspace: Workspace) -> None:
        path = f"/project/generator/{workspace.project}"
        assert workspace.me.patch(path, {"generator": "hugo"}).ok()["generator"] == "hugo"
        assert workspace.me.patch(path, {"generator": ""}).ok()["generator"] is None

    def test_connection_with_empty_repository_id_is_unchanged(self, workspace: Workspace) -> None:
        path = f"/project/git/{workspace.project}"
        project = workspace.me.patch(path, {"repository_id": ""}).ok()
        assert (project["repository"], project["connection"]["status"]) == (workspace.repository, "active")


class TestStatus:
    def test_archived_project_is_readable_and_returns_409_for_writes(self, workspace: Workspace) -> None:
        me, made = workspace.me, workspace.project
        me.patch(f"/project/status/{made}", {"status": "archived"}).ok()
        me.get(f"/project/{made}").ok()
        for path, body in (("", {"project_name": "X"}), ("git/", {}), ("generator/", {"generator": None})):
            me.patch(f"/project/{path}{made}", body).fails(409, "ARCHIVED")
        me.post(f"/project/{made}/branches", {"branch": "x"}).fails(409, "ARCHIVED")
        me.patch(f"/project/move/{me.new_organization()}/{made}").ok()
        me.delete(f"/project/{made}").ok()

    def test_activation_above_the_limit_returns_403(self, world: World) -> None:
        me = world.person()
        org, (name, _) = organization(world, me), repository(world, SMALL)
        archived = project(world, me, org, name, status="archived")
        for _ in range(25):
            project(world, me, org, name)
        me.patch(f"/project/status/{archived}", {"status": "active"}).fails(403, "LIMIT_REACHED")


class TestConnection:
    def test_changed_branch_is_verified_and_indexed(self, world: World, workspace: Workspace) -> None:
        workspace.git.commit({"draft.md": b"# Draft\n"}, branch="work/one", start="main")
        path = f"/project/git/{workspace.project}"
        assert workspace.me.patch(path, {"branch": "work/one"}).ok()["index"]["status"] == "queued"
        world.work_off()
        shown = workspace.me.get(f"/project/{workspace.project}").ok()
        assert (shown["branch"], shown["index"]["files"]) == ("work/one", len(SMALL) + 1)
        workspace.me.patch(path, {"branch": "nope"}).fails(422, "REPO_UNAVAILABLE")
        assert workspace.me.get(f"/project/{workspace.project}").ok()["branch"] == "work/one"

    def test_connection_with_empty_strings_disconnects_until_reconnected(self, workspace: Workspace) -> None:
        me, path = workspace.me, f"/project/git/{workspace.project}"
        gone = me.patch(path, {"repository": "", "branch": ""}).ok()
        assert (gone["repository"], gone["branch"]) == ("", "")
        assert gone["connection"] == {"status": "needs_reconnect", "connected_by": None, "account": None}
        me.get(f"/project/{workspace.project}/branches").fails(409, "DISCONNECTED")
        me.patch(path, {}).fails(400, None, "repository")
        me.patch(path, {"repository": workspace.repository}).fails(400, None, "branch")
        again = me.patch(path, {"repository": workspace.repository, "branch": "main"}).ok()
        assert again["repository"] == workspace.repository
        assert again["connection"] == {"status": "active", "connected_by": me.id, "account": None}

    @pytest.mark.parametrize("rest", [{}, {"repository": "", "branch": ""}, {"repository": "", "repository_id": ""}])
    def test_empty_provider_disconnects(self, workspace: Workspace, rest: dict[str, str]) -> None:
        gone = workspace.me.patch(f"/project/git/{workspace.project}", {"provider": ""} | rest).ok()
        assert (gone["repository"], gone["branch"], gone["provider"]) == ("", "", "local")

    @pytest.mark.one_database
    def test_empty_provider_with_a_repository_returns_400(self, workspace: Workspace) -> None:
        body = {"provider": "", "repository": workspace.repository, "branch": "main"}
        workspace.me.patch(f"/project/git/{workspace.project}", body).fails(400, None, "provider")


class TestMove:
    def test_move_to_archived_full_or_conflicting_organization_is_rejected(
        self, world: World, workspace: Workspace
    ) -> None:
        me, made = workspace.me, workspace.project
        name = me.get(f"/project/{made}").ok()["project_name"]
        archived, full, clash = me.new_organization(), organization(world, me), me.new_organization()
        me.patch(f"/organization/status/{archived}", {"status": "archived"}).ok()
        repo, _ = repository(world, SMALL)
        for _ in range(25):
            project(world, me, full, repo)
        me.patch(f"/project/{me.new_project(clash, repository(world, SMALL)[0])}", {"project_name": name}).ok()
        me.patch(f"/project/move/{archived}/{made}").fails(409, "ARCHIVED")
        me.patch(f"/project/move/{full}/{made}").fails(403, "LIMIT_REACHED")
        me.patch(f"/project/move/{clash}/{made}").fails(409, "NAME_TAKEN")
        assert me.patch(f"/project/move/{workspace.org}/{made}").ok()["org_id"] == workspace.org

    @pytest.mark.one_database
    def test_move_without_ownership_of_both_organizations_returns_403(self, world: World, workspace: Workspace) -> None:
        other = world.person()
        foreign = organization(world, other, (workspace.me, Role.ADMIN))
        for who in (workspace.me, other):
            who.patch(f"/project/move/{foreign}/{workspace.project}").fails(403)


class TestDelete:
    def test_delete_retains_the_repository(self, workspace: Workspace) -> None:
        expected = {"project_id": workspace.project, "deleted": True}
        assert workspace.me.delete(f"/project/{workspace.project}").ok() == expected
        workspace.me.get(f"/project/{workspace.project}").fails(404)
        assert workspace.git.head("main")
        create(workspace.me, workspace.org, workspace.repository).ok(201)


class TestBranches:
    def test_branches_are_listed_and_created(self, workspace: Workspace) -> None:
        me, path, head = workspace.me, f"/project/{workspace.project}/branches", workspace.git.head("main")
        assert me.get(path).ok() == [{"name": "main", "sha": head, "default": True, "protected": False}]
        created = me.post(path, {"branch": "feature/one", "from": "main"}).ok(201)
        assert created == {"name": "feature/one", "sha": head, "default": False, "protected": False}
        assert me.post(path, {"branch": "two"}).ok(201)["sha"] == head
        assert me.post(path, {"branch": "three", "from": head}).ok(201)["sha"] == head
        me.post(path, {"branch": "feature/one", "from": "main"}).fails(409)
        me.post(path, {"branch": "four", "from": "nope"}).fails(422, "REPO_UNAVAILABLE")
        assert workspace.git.head("feature/one") == head

    @pytest.mark.one_database
    @pytest.mark.parametrize("name", ["--force", "a..b", "", "a b", "x.lock", "@{x"])
    def test_create_branch_with_invalid_name_returns_400(self, workspace: Workspace, name: str) -> None:
        body = {"branch": name, "from": "main"}
        workspace.me.post(f"/project/{workspace.project}/branches", body).fails(400, None, "branch")

    def test_empty_start_is_the_working_branch(self, workspace: Workspace) -> None:
        body = {"branch": "two", "from": ""}
        created = workspace.me.post(f"/project/{workspace.project}/branches", body).ok(201)
        assert created["sha"] == workspace.git.head("main")


class TestDeleteBranch:
    @pytest.mark.parametrize("name", ["work", "work/one", "work%2Fone"])
    def test_branch_is_deleted_with_its_index(self, world: World, workspace: Workspace, name: str) -> None:
        me, branch = workspace.me, name.replace("%2F", "/")
        content = f"/project-content/{workspace.project}?ref={branch}"
        workspace.git.commit({"new.md": b"# New\n"}, branch=branch, start="main")
        me.get(content).ok()
        world.work_off()
        deleted = me.delete(f"/project/{workspace.project}/branches/{name}").ok()
        assert deleted == {"name": branch, "deleted": True}
        assert [one["name"] for one in me.get(f"/project/{workspace.project}/branches").ok()] == ["main"]
        me.get(content).fails(404)

    def test_default_or_working_branch_returns_409(self, workspace: Workspace) -> None:
        me, path = workspace.me, f"/project/{workspace.project}/branches"
        workspace.git.commit({"new.md": b"# New\n"}, branch="work", start="main")
        workspace.git.commit({"new.md": b"# New\n"}, branch="other", start="main")
        me.patch(f"/project/git/{workspace.project}", {"branch": "work"}).ok()
        me.patch(f"/project/git/{me.new_project(workspace.org, workspace.repository)}", {"branch": "other"}).ok()
        me.delete(f"{path}/main").fails(409, "DEFAULT_BRANCH")
        me.delete(f"{path}/work").fails(409, "WORKING_BRANCH")
        me.delete(f"{path}/other").fails(409, "WORKING_BRANCH")
        assert len(me.get(path).ok()) == 3

    @pytest.mark.one_database
    @pytest.mark.parametrize("name", ["nope", "a..b", "--force", "ma", "%00", "x" * 300])
    def test_unknown_branch_returns_404(self, workspace: Workspace, name: str) -> None:
        workspace.me.delete(f"/project/{workspace.project}/branches/{name}").fails(404)

    def test_archived_project_returns_409(self, workspace: Workspace) -> None:
        workspace.git.commit({"new.md": b"# New\n"}, branch="work", start="main")
        workspace.me.patch(f"/project/status/{workspace.project}", {"status": "archived"}).ok()
        workspace.me.delete(f"/project/{workspace.project}/branches/work").fails(409, "ARCHIVED")
        assert workspace.git.head("work")


class TestFormerMembers:
    def test_projects_of_a_former_member_on_gitlab_need_reconnect(self, app: Flask, world: World) -> None:
        owner, leaver, gone = world.person(), world.person(), world.person()
        org = organization(world, owner, (leaver, Role.ADMIN), (gone, Role.ADMIN))
        name, _ = repository(world, SMALL)
        made = {who.id: project(world, owner, org, name, connected_by=who.id) for who in (owner, leaver, gone)}
        installed = project(world, owner, org, name, connected_by=leaver.id)
        with app.app_context():
            for one in made.values():
                db.session.get_one(Project, one).provider = Provider.GITLAB
            theirs = db.session.get_one(Project, installed)
            theirs.provider, theirs.installation_id = Provider.GITHUB, "90"
            db.session.commit()
        leaver.patch(f"/organization/leave/{org}").ok()
        with app.app_context():
            user_deleting.publish(db.session.get_one(User, gone.id))
            db.session.commit()
        shown = {one["project_id"]: one["connection"]["status"] for one in owner.get(f"/project/orgs/{org}").ok()}
        assert shown == {
            made[owner.id]: "active",
            made[leaver.id]: "needs_reconnect",
            made[gone.id]: "needs_reconnect",
            installed: "active",
        }
