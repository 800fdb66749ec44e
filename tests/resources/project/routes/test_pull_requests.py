"""Tests of pull and merge requests of a project over HTTP, at both hosts."""

import pytest
from flask import Flask

from app.core.permissions import Role
from tests.support.assertions.pages import read_pages
from tests.support.factories import organization, repository
from tests.support.git_hosts import Hosts, OnGitHub, OnGitLab, connect_github, connect_gitlab, login_of, new_project
from tests.support.world import Person, World

pytestmark = pytest.mark.slow

At = tuple[Person, str, OnGitHub | OnGitLab]


@pytest.fixture(scope="session")
def app(hosted: tuple[Flask, Hosts]) -> Flask:
    return hosted[0]


@pytest.fixture(params=["github", "gitlab"])
def at(request: pytest.FixtureRequest, world: World, hosts: Hosts) -> At:
    """An editor without an account at the host, the URL of the project's pull requests, and its repository."""
    me, editor = world.person(), world.person()
    if request.param == "github":
        made: OnGitHub | OnGitLab = hosts.on_github(login_of(me))
        connect_github(me, hosts, hosts.installation_of(made.name))
    else:
        made = hosts.on_gitlab(login_of(me))
        connect_gitlab(me, hosts)
    project = new_project(me, organization(world, me, (editor, Role.EDITOR)), request.param, made.name)
    made.git.commit({"content/new.md": b"# New\n"}, branch="work", start=made.git.head())
    return editor, f"/project/{project}/pull-requests", made


BODY = {"title": "A page", "head": "work", "base": "main"}


class TestPullRequests:
    def test_pull_requests_are_created_listed_and_merged(self, at: At) -> None:
        me, path, made = at
        assert me.get(path).ok() == []
        one = me.post(path, BODY | {"body": "Why"}).ok(201)
        assert set(one) == {"number", "title", "state", "head", "base", "url"}
        assert (one["title"], one["state"], one["head"], one["base"]) == ("A page", "open", "work", "main")
        assert me.get(path).ok() == [one]
        merged = me.post(f"{path}/{one['number']}/merge", {}).ok()
        assert merged == {"merged": True, "commit_sha": made.git.head()}
        assert made.git.show("content/new.md") == b"# New\n"
        assert me.get(path).ok() == [one | {"state": "merged"}]

    def test_pages_are_the_whole_list(self, at: At) -> None:
        me, path, made = at
        made.git.commit({"content/more.md": b"# More\n"}, branch="more", start=made.git.head())
        for head in ("work", "more"):
            me.post(path, BODY | {"head": head}).ok(201)
        whole = me.get(path).ok()
        assert len(whole) == 2
        assert read_pages(me, path) == whole

    def test_merge_indexes_the_base_branch(self, world: World, at: At) -> None:
        me, path, made = at
        content = path.replace("/project/", "/project-content/").removesuffix("/pull-requests")
        world.work_off()
        number = me.post(path, BODY).ok(201)["number"]
        me.post(f"{path}/{number}/merge", {}).ok()
        assert me.get(content).ok()["status"] == "stale"
        world.work_off()
        tree = me.get(content).ok()
        assert (tree["status"], tree["commit_sha"]) == ("ready", made.git.head())
        assert "content/new.md" in {file["path"] for file in tree["files"]}

    def test_merge_of_a_merged_pull_request_returns_409(self, at: At) -> None:
        me, path, _ = at
        number = me.post(path, BODY).ok(201)["number"]
        me.post(f"{path}/{number}/merge", {}).ok()
        me.post(f"{path}/{number}/merge", {}).fails(409)

    def test_second_pull_request_of_the_same_branches_returns_409(self, at: At) -> None:
        me, path, _ = at
        me.post(path, BODY).ok(201)
        me.post(path, BODY).fails(409)

    @pytest.mark.one_database
    def test_merge_of_an_unknown_number_returns_404(self, at: At) -> None:
        me, path, _ = at
        for number in ("99", "0", "x", "%2e%2e", "-1", "1" * 40):
            me.post(f"{path}/{number}/merge", {}).fails(404)

    @pytest.mark.one_database
    def test_create_with_invalid_value_returns_400_with_path(self, at: At) -> None:
        me, path, _ = at
        for name, value in (("title", " "), ("head", "--x"), ("base", "a..b"), ("body", 7)):
            me.post(path, BODY | {name: value}).fails(400, "VALIDATION_FAILED", name)

    @pytest.mark.one_database
    def test_nonmember_returns_403(self, world: World, at: At) -> None:
        _, path, _ = at
        world.person().get(path).fails(403)
        world.person().post(path, BODY).fails(403)


@pytest.mark.one_database
class TestLocalRepository:
    def test_local_repository_returns_422(self, world: World) -> None:
        me = world.person()
        project = me.new_project(me.new_organization(), repository(world, {"a": b"a"})[0])
        path = f"/project/{project}/pull-requests"
        me.get(path).fails(422, "NO_PULL_REQUESTS")
        me.post(path, BODY).fails(422, "NO_PULL_REQUESTS")
        me.post(f"{path}/1/merge", {}).fails(422, "NO_PULL_REQUESTS")
