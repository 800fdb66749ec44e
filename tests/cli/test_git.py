"""Tests of `flask git`."""

from pathlib import Path

import pytest
from click import ClickException
from flask import Flask

from app.cli.projects import source_folder
from tests.support.factories import repository
from tests.support.samples.gitrepo import GitRepo
from tests.support.samples.sites import SMALL
from tests.support.world import World


def run(app: Flask, *words: str) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=["git", *words])
    return done.exit_code, done.output


class TestCreate:
    def test_create_without_an_organization_creates_an_empty_repository(self, app: Flask, world: World) -> None:
        assert run(app, "create", "tools/empty")[0] == 0
        assert (world.git_root / "tools/empty.git" / "HEAD").is_file()
        code, output = run(app, "create", "tools/empty")
        assert (code, "already exists" in output) == (1, True)

    def test_create_from_a_folder_assigns_the_organization(self, app: Flask, world: World, tmp_path: Path) -> None:
        me, stranger = world.person(), world.person()
        org = me.new_organization()
        (tmp_path / "hugo.toml").write_text('title = "Filled"\n')
        assert run(app, "create", "tools/filled", "--org", org, "--from", str(tmp_path))[0] == 0
        assert GitRepo.existing(world.git_root / "tools/filled.git").head("main")
        body = {"project_name": "P", "provider": "local", "repository": "tools/filled", "branch": "main"}
        stranger.post("/project/create", body | {"org_id": stranger.new_organization()}).fails(422)
        me.post("/project/create", body | {"org_id": org}).ok(201)

    def test_create_from_a_url_clones_the_branches(self, app: Flask, world: World, tmp_path: Path) -> None:
        source = GitRepo(tmp_path / "source.git", SMALL)
        code, output = run(app, "create", "tools/cloned", "--from", f"file://{tmp_path / 'source.git'}")
        assert code == 0, output
        assert GitRepo.existing(world.git_root / "tools/cloned.git").head("main") == source.head("main")
        assert "Next: flask project create tools/cloned --org ORG_ID --branch main" in output
        code, output = run(app, "create", "tools/missing", "--from", f"file://{tmp_path / 'missing.git'}")
        assert (code, "cannot be cloned" in output) == (1, True)
        assert not (world.git_root / "tools/missing.git").exists()

    def test_clone_that_exceeds_the_timeout_is_an_error(self, tmp_path: Path) -> None:
        GitRepo(tmp_path / "source.git", SMALL)
        url = f"file://{tmp_path / 'source.git'}"
        with pytest.raises(ClickException, match="did not end within"), source_folder(url, timeout_s=0.0001):
            pass

    def test_create_with_an_invalid_name_or_organization_is_refused(self, app: Flask) -> None:
        for words in (("../x",), ("one",), ("a/b", "--org", "org_unknown"), ("a/b", "--from", "/nowhere")):
            assert run(app, "create", *words)[0] != 0, words


class TestAssign:
    def test_assign_of_a_repository_without_organization_succeeds(self, app: Flask, world: World) -> None:
        one, two = world.person(), world.person()
        name, _ = repository(world, SMALL)
        first, second = one.new_organization(), two.new_organization()
        one.new_project(first, name)
        one.delete(f"/organization/{first}").ok()
        body = {"org_id": second, "project_name": "P", "provider": "local", "repository": name, "branch": "main"}
        two.post("/project/create", body).fails(422, "REPO_UNAVAILABLE")
        assert run(app, "assign", name, "--org", second)[0] == 0
        two.post("/project/create", body).ok(201)

    def test_assign_replaces_the_previous_organization(self, app: Flask, world: World) -> None:
        one, two = world.person(), world.person()
        name, _ = repository(world, SMALL)
        made = one.new_project(one.new_organization(), name)
        assert run(app, "assign", name, "--org", two.new_organization())[0] == 0
        assert one.get(f"/project/{made}").ok()["connection"]["status"] == "needs_reconnect"

    def test_assign_of_an_unknown_repository_is_refused(self, app: Flask, world: World) -> None:
        org = world.person().new_organization()
        assert run(app, "assign", "tools/none", "--org", org)[0] == 1
        assert run(app, "assign", "tools/none", "--org", "nonsense")[0] == 1


class TestPack:
    def test_pack_leaves_no_loose_object(self, app: Flask, world: World) -> None:
        name, repo = repository(world, SMALL)
        assert run(app, "pack", name) == (0, f"Packed {name}.\n")
        assert not list((repo.folder / "objects").glob("??/*"))
        code, output = run(app, "pack", "no/such")
        assert (code, "cannot be packed" in output) == (1, True)
