"""`flask user promote`: platform admins."""

import pytest
from flask import Flask

from tests.world import World


def role(world: World, user_id: str) -> str:
    admin = world.person(admin=True)
    return str(admin.get(f"/user/{user_id}").ok()["role"])


class TestPromote:
    def test_makes_a_platform_admin_and_takes_it_back(self, app: Flask, world: World) -> None:
        person, runner = world.person(), app.test_cli_runner()
        made = runner.invoke(args=["user", "promote", f" {person.email.upper()} "])
        assert (made.exit_code, made.output) == (0, f"{person.email} is a platform admin.\n")
        assert role(world, person.id) == "admin"
        assert runner.invoke(args=["user", "promote", "--undo", person.email]).exit_code == 0
        assert role(world, person.id) == "user"

    @pytest.mark.parametrize("email", ["nobody@mail.example.org", "nobody", ""])
    def test_who_is_not_there_is_told_in_a_sentence(self, app: Flask, email: str) -> None:
        found = app.test_cli_runner().invoke(args=["user", "promote", email])
        assert found.exit_code == 1
        assert found.output.startswith("Error: ")
        assert found.output.count("\n") == 1
