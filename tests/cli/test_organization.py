"""Tests of `flask organization`."""

from flask import Flask

from tests.support.world import World


def test_list_shows_owner_and_counts(app: Flask, world: World) -> None:
    person = world.person()
    org = person.new_organization("Harbour Press")
    done = app.test_cli_runner().invoke(args=["organization", "list", "--limit", "1000"])
    (line,) = [one for one in done.output.splitlines() if one.startswith(org)]
    assert line == f"{org}  Harbour Press  {person.email}  members: 1, projects: 0  active"
