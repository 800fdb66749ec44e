"""Tests of `flask project`."""

from flask import Flask

from tests.support.factories import repository
from tests.support.samples.sites import SMALL
from tests.support.world import World


class TestCreate:
    def test_create_connects_a_local_repository(self, app: Flask, world: World) -> None:
        person = world.person()
        org = person.new_organization()
        name, _ = repository(world, SMALL)
        done = app.test_cli_runner().invoke(args=["project", "create", name, "--org", org, "--name", "Harbour"])
        assert done.exit_code == 0, done.output
        (project,) = person.get(f"/project/orgs/{org}").ok()
        assert (project["project_name"], project["repository"]) == ("Harbour", name)

    def test_create_with_an_unknown_branch_lists_the_branches(self, app: Flask, world: World) -> None:
        person = world.person()
        org = person.new_organization()
        name, _ = repository(world, SMALL)
        done = app.test_cli_runner().invoke(args=["project", "create", name, "--org", org, "--branch", "master"])
        assert (done.exit_code, "Its branches are: main" in done.output) == (1, True)
        body = {"org_id": org, "project_name": "P", "provider": "local", "repository": name, "branch": "master"}
        failure = person.post("/project/create", body).fails(422, "REPO_UNAVAILABLE", "branch")
        assert failure["result"]["branches"][0] == "main"

    def test_create_with_an_invalid_name_is_refused(self, app: Flask, world: World) -> None:
        org = world.person().new_organization()
        for name in ("", "a\nb", "x" * 101):
            done = app.test_cli_runner().invoke(args=["project", "create", "a/b", "--org", org, "--name", name])
            assert (done.exit_code, "Invalid value for '--name'" in done.output) == (2, True), name
