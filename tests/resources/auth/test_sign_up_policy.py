"""Tests of new accounts with `SIGN_UP=open|invited|closed`."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask

from tests.support.world import World


@contextmanager
def sign_up(app: Flask, policy: str) -> Iterator[None]:
    """Set the policy of the application."""
    before = app.config["SETTINGS"]
    server = dataclasses.replace(before.server, sign_up=policy)
    app.config["SETTINGS"] = dataclasses.replace(before, server=server)
    try:
        yield
    finally:
        app.config["SETTINGS"] = before


def body(email: str) -> dict[str, str]:
    return {"email": email, "password": "Quiet-Harbour-Table", "name": "New"}


class TestPolicy:
    def test_closed_returns_403_for_known_and_unknown_email(self, app: Flask, world: World) -> None:
        known = world.person().email
        with sign_up(app, "closed"):
            for email in (known, "unknown@mail.example.org"):
                world.anonymous().post("/auth/sign-up/email", body(email)).fails(403, "SIGN_UP_CLOSED")

    def test_invited_returns_403_without_an_open_invitation(self, app: Flask, world: World) -> None:
        person = world.person()
        invitation = {"email": "invited@mail.example.org", "role": "editor"}
        person.patch(f"/organization/member/{person.new_organization()}", invitation).ok()
        with sign_up(app, "invited"):
            world.anonymous().post("/auth/sign-up/email", body("other@mail.example.org")).fails(403, "SIGN_UP_CLOSED")
            world.anonymous().post("/auth/sign-up/email", body("Invited@mail.example.org")).ok()
