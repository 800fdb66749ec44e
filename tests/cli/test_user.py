"""Tests of `flask user`."""

import re

import pytest
from flask import Flask

from tests.support.new_account import Newcomer
from tests.support.second_factor import ProtectedPerson
from tests.support.tokens import program
from tests.support.world import World


def role(world: World, user_id: str) -> str:
    admin = world.person(admin=True)
    return str(admin.get(f"/user/{user_id}").ok()["role"])


class TestPromote:
    def test_promote_and_undo_change_the_right(self, app: Flask, world: World) -> None:
        person, runner = world.person(), app.test_cli_runner()
        made = runner.invoke(args=["user", "promote", f" {person.email.upper()} "])
        assert (made.exit_code, made.output) == (0, f"{person.email} is a platform admin.\n")
        assert role(world, person.id) == "admin"
        assert runner.invoke(args=["user", "promote", "--undo", person.email]).exit_code == 0
        assert role(world, person.id) == "user"

    @pytest.mark.parametrize("email", ["nobody@mail.example.org", "nobody", ""])
    def test_promote_of_an_unknown_user_prints_a_message(self, app: Flask, email: str) -> None:
        response = app.test_cli_runner().invoke(args=["user", "promote", email])
        assert response.exit_code == 1
        assert response.output.startswith("Error: ")
        assert response.output.count("\n") == 1


class TestCreate:
    def test_created_user_signs_in_with_the_printed_password(self, app: Flask, world: World) -> None:
        done = app.test_cli_runner().invoke(
            args=["user", "create", "first@mail.example.org", "--name", "First", "--admin"]
        )
        assert done.exit_code == 0, done.output
        (password,) = re.findall(r"^Password: (\S+)$", done.output, re.MULTILINE)
        browser = world.anonymous()
        user = browser.post("/auth/sign-in/email", {"email": "first@mail.example.org", "password": password}).ok()[
            "user"
        ]
        assert (user["name"], user["role"], user["emailVerified"]) == ("First", "admin", True)
        assert len(browser.get("/organization/user").ok()) == 1

    def test_create_of_an_existing_user_is_refused(self, app: Flask, world: World) -> None:
        done = app.test_cli_runner().invoke(args=["user", "create", world.person().email])
        assert (done.exit_code, "has an account" in done.output) == (1, True)

    def test_weak_password_from_stdin_is_refused(self, app: Flask) -> None:
        arguments = ["user", "create", "weak@mail.example.org", "--password-stdin"]
        done = app.test_cli_runner().invoke(args=arguments, input="password\n")
        assert (done.exit_code, "too easy" in done.output) == (1, True)


class TestResetPassword:
    def test_reset_replaces_the_password_and_ends_sessions_and_tokens(self, app: Flask, world: World) -> None:
        person = world.person()
        bot = program(person, "read")
        arguments = ["user", "reset-password", person.email, "--password-stdin"]
        done = app.test_cli_runner().invoke(args=arguments, input="Quiet-Harbour-Table-2\n")
        assert (done.exit_code, "Password:" in done.output) == (0, False)
        person.get("/auth/get-session").fails(401)
        bot.get("/organization/user").fails(401, "INVALID_API_TOKEN")
        body = {"email": person.email, "password": "Quiet-Harbour-Table-2"}
        world.anonymous().post("/auth/sign-in/email", body).ok()


class TestResetSecondFactor:
    def test_reset_removes_the_factor_and_ends_sessions(self, app: Flask, world: World) -> None:
        newcomer = Newcomer(app, world)
        newcomer.join()
        ProtectedPerson(newcomer)
        arguments = ["user", "reset-second-factor", newcomer.email]
        assert app.test_cli_runner().invoke(args=arguments).exit_code == 0
        newcomer.get("/auth/get-session").fails(401)
        assert "twoFactorRedirect" not in newcomer.sign_in().ok()
        world.work_off()
        assert "second factor" in newcomer.mailbox.texts()[-1]

    def test_reset_of_a_user_without_a_factor_is_refused(self, app: Flask, world: World) -> None:
        done = app.test_cli_runner().invoke(args=["user", "reset-second-factor", world.person().email])
        assert (done.exit_code, "has no second factor" in done.output) == (1, True)


class TestList:
    def test_list_shows_matching_users(self, app: Flask, world: World) -> None:
        one, other = world.person(), world.person()
        done = app.test_cli_runner().invoke(args=["user", "list", "--search", one.email])
        assert one.id in done.output
        assert other.id not in done.output

    def test_list_without_a_match_says_so(self, app: Flask) -> None:
        done = app.test_cli_runner().invoke(args=["user", "list", "--search", "no-such-address"])
        assert (done.stdout, done.stderr) == ("", "There is no such user.\n")
