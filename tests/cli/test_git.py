"""`flask git` as an operator types it."""

from pathlib import Path

from flask import Flask

from tests.factories import repository
from tests.samples.gitrepo import GitRepo
from tests.samples.sites import SMALL
from tests.world import World


def run(app: Flask, *words: str) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=["git", *words])
    return done.exit_code, done.output


class TestCreate:
    def test_makes_an_empty_repository_for_the_first_to_connect_it(self, app: Flask, world: World) -> None:
        assert run(app, "create", "tools/empty")[0] == 0
        assert (world.git_root / "tools/empty.git" / "HEAD").is_file()
        code, output = run(app, "create", "tools/empty")
        assert (code, "already exists" in output) == (1, True)

    def test_fills_it_from_a_folder_and_gives_it_to_an_organization(
        self, app: Flask, world: World, tmp_path: Path
    ) -> None:
        me, stranger = world.person(), world.person()
        org = me.new_organization()
        (tmp_path / "hugo.toml").write_text('title = "Filled"\n')
        assert run(app, "create", "tools/filled", "--org", org, "--from", str(tmp_path))[0] == 0
        assert GitRepo.existing(world.git_root / "tools/filled.git").head("main")
        body = {"project_name": "P", "provider": "local", "repository": "tools/filled", "branch": "main"}
        stranger.post("/project/create", body | {"org_id": stranger.new_organization()}).fails(422)
        me.post("/project/create", body | {"org_id": org}).ok(201)

    def test_refuses_bad_names_and_unknown_organizations(self, app: Flask) -> None:
        for words in (("../x",), ("one",), ("a/b", "--org", "org_unknown"), ("a/b", "--from", "/nowhere")):
            assert run(app, "create", *words)[0] != 0, words


class TestAssign:
    def test_gives_what_a_deleted_organization_left(self, app: Flask, world: World) -> None:
        one, two = world.person(), world.person()
        name, _ = repository(world, SMALL)
        first, second = one.new_organization(), two.new_organization()
        one.new_project(first, name)
        one.delete(f"/organization/{first}").ok()
        body = {"org_id": second, "project_name": "P", "provider": "local", "repository": name, "branch": "main"}
        two.post("/project/create", body).fails(422, "REPO_UNAVAILABLE")
        assert run(app, "assign", name, "--org", second)[0] == 0
        two.post("/project/create", body).ok(201)

    def test_takes_it_from_whoever_had_it(self, app: Flask, world: World) -> None:
        one, two = world.person(), world.person()
        name, _ = repository(world, SMALL)
        made = one.new_project(one.new_organization(), name)
        assert run(app, "assign", name, "--org", two.new_organization())[0] == 0
        assert one.get(f"/project/{made}").ok()["connection"]["status"] == "needs_reconnect"

    def test_refuses_what_is_not_there(self, app: Flask, world: World) -> None:
        org = world.person().new_organization()
        assert run(app, "assign", "tools/none", "--org", org)[0] == 1
        assert run(app, "assign", "tools/none", "--org", "nonsense")[0] == 1
