"""Tests of `flask seed demo`."""

import re

from flask import Flask

from tests.support.samples.gitrepo import GitRepo
from tests.support.world import World


class TestDemo:
    def test_seed_creates_users_and_an_indexed_site(self, app: Flask, world: World) -> None:
        done = app.test_cli_runner().invoke(args=["seed", "demo"])
        assert done.exit_code == 0, done.output
        signed = dict(re.findall(r"^  (\w+) +(\S+@\S+ +\S+)$", done.output, re.MULTILINE))
        assert set(signed) == {"owner", "admin", "editor"}
        world.work_off()
        for role, line in signed.items():
            browser, (email, password) = world.anonymous(), line.split()
            browser.post("/auth/sign-in/email", {"email": email, "password": password}).ok()
            (harbour,) = [one for one in browser.get("/organization/user").ok() if one["org_name"] == "Harbour"]
            assert harbour["role"] == role
            (site,) = harbour["projects"]
            shown = browser.get(f"/project/{site['project_id']}").ok()
            head = GitRepo.existing(world.git_root / "demo/harbour-journal.git").head("main")
            assert (shown["generator"], shown["index"]["commit_sha"]) == ("hugo", head)

    def test_second_seed_changes_nothing(self, app: Flask, world: World) -> None:
        first = app.test_cli_runner().invoke(args=["seed", "demo"])
        second = app.test_cli_runner().invoke(args=["seed", "demo"])
        assert (second.exit_code, second.output) == (0, first.output)

    def test_seed_after_a_restore_prints_no_password(self, app: Flask, world: World) -> None:
        app.test_cli_runner().invoke(args=["seed", "demo"])
        password = app.config["SETTINGS"].server.instance_dir / "demo_password"
        password.write_text("Harbour-of-another-machine")
        done = app.test_cli_runner().invoke(args=["seed", "demo"])
        assert "keep their passwords" in done.output
        assert "Harbour-of-another-machine" not in done.output
