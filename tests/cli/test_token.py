"""Tests of `flask token`: creation, list, rotation and deletion of tokens."""

import pytest
from flask import Flask

from app.security.secrets import is_api_token
from tests.support.tokens import Program, new_token
from tests.support.workspace import make_workspace
from tests.support.world import World


def _run(app: Flask, *words: str) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=["token", *words])
    return done.exit_code, done.stdout.strip() or done.output.strip()


class TestToken:
    def test_created_token_works_until_it_is_rotated_and_revoked(self, app: Flask, world: World) -> None:
        me = world.person()
        code, secret = _run(app, "create", me.email, "--name", "Backup", "--scope", "read", "--days", "5")
        assert code == 0
        assert is_api_token(secret)
        Program(app, secret).get("/organization/user").ok()
        [shown] = me.get("/tokens").ok()
        assert (shown["name"], shown["scopes"], shown["projects"]) == ("Backup", ["read"], None)
        listed = _run(app, "list", "--user", me.email)[1]
        assert listed.startswith(shown["id"])
        assert listed.endswith("Backup")
        assert "  active  " in listed
        assert secret not in listed
        rotated = _run(app, "rotate", shown["id"])[1]
        Program(app, secret).get("/organization/user").fails(401)
        Program(app, rotated).get("/organization/user").ok()
        assert _run(app, "revoke", shown["id"]) == (0, f"{shown['id']} is deleted.")
        assert _run(app, "list", "--user", me.email) == (0, "There is no API token.")
        Program(app, rotated).get("/organization/user").fails(401)

    def test_service_account_rotated_by_the_operator_keeps_its_owner(self, app: Flask, world: World) -> None:
        space = make_workspace(world)
        options = ["--scope", "write", "--project", space.project, "--organization", space.org]
        assert _run(app, "create", space.me.email, "--name", "Import", *options)[0] == 0
        [account] = space.me.get(f"/organization/{space.org}/service-accounts").ok()
        assert account["projects"] == [space.project]
        assert _run(app, "rotate", account["id"])[0] == 0
        [rotated] = space.me.get(f"/organization/{space.org}/service-accounts").ok()
        assert rotated["user_id"] == space.me.id

    @pytest.mark.parametrize("name", ["", " ", "A\nB", "x" * 81])
    def test_invalid_name_is_refused(self, app: Flask, world: World, name: str) -> None:
        me = world.person()
        assert _run(app, "create", me.email, "--name", name, "--scope", "read")[0] == 2
        assert me.get("/tokens").ok() == []

    def test_unknown_ids_and_emails_print_one_sentence(self, app: Flask, world: World) -> None:
        me = world.person()
        create = ("--name", "A", "--scope", "read")
        for words in (
            ("create", "unknown@mail.example.org", *create),
            ("create", me.email, *create, "--organization", "org_unknown"),
            ("create", me.email, *create, "--project", "prj_unknown"),
            ("rotate", "tok_unknown"),
            ("revoke", "tok_unknown"),
        ):
            done = app.test_cli_runner().invoke(args=["token", *words])
            assert done.exit_code == 1, words
            assert done.output.startswith("Error: ")
            assert done.output.count("\n") == 1

    def test_member_of_another_organization_cannot_own_a_service_account(self, app: Flask, world: World) -> None:
        space, me = make_workspace(world), world.person()
        new_token(space.me, organization=space.org)
        done = _run(app, "create", me.email, "--name", "A", "--scope", "read", "--organization", space.org)
        assert done[0] == 1
