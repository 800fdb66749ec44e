"""Tests that no route holds a database connection while it hashes or compares a password."""

from collections.abc import Callable
from typing import Any

import pytest
from argon2 import PasswordHasher
from flask import Flask

from app.extensions import db
from tests.support.new_account import Newcomer

Make = Callable[..., Newcomer]
NEW = "Another-Harbour-1"


@pytest.fixture
def connections_in_use(app: Flask, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of connections in use, recorded before each call of argon2."""
    with app.app_context():
        engines: list[Any] = [db.engine, app.extensions["reading_engine"]]
    numbers: list[int] = []

    def recording(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            numbers.append(sum(engine.pool.checkedout() for engine in engines))
            return method(*args)

        return call

    for name in ("hash", "verify"):
        monkeypatch.setattr(PasswordHasher, name, recording(getattr(PasswordHasher, name)))
    return numbers


ASKS: dict[str, Callable[[Newcomer], Any]] = {
    "sign-up": lambda person: person.post("/auth/sign-up/email", {"email": "x" + person.email, "password": NEW}),
    "sign-up of a known e-mail": lambda person: person.sign_up(),
    "sign-in": lambda person: person.sign_in(),
    "sign-in with a wrong password": lambda person: person.sign_in("Wrong-password-1"),
    "sign-in of an unknown e-mail": lambda person: person.post(
        "/auth/sign-in/email", {"email": "y" + person.email, "password": NEW}
    ),
    "change": lambda person: person.post(
        "/auth/change-password", {"currentPassword": person.password, "newPassword": NEW}
    ),
    "set": lambda person: person.patch("/user/set-password", {"currentPassword": person.password, "newPassword": NEW}),
    "delete": lambda person: person.delete(
        f"/user/delete/{person.get('/auth/get-session').ok()['user']['id']}", {"password": "Wrong-password-1"}
    ),
}


class TestPasswordHashing:
    @pytest.mark.parametrize("name", ASKS)
    def test_hashing_request_uses_no_connection(self, newcomer: Make, connections_in_use: list[int], name: str) -> None:
        person = newcomer().join()
        connections_in_use.clear()
        ASKS[name](person)
        assert connections_in_use
        assert set(connections_in_use) == {0}

    def test_password_reset_uses_no_connection(self, newcomer: Make, connections_in_use: list[int]) -> None:
        person = newcomer().join()
        person.post("/auth/forget-password", {"email": person.email}).ok()
        person.world.work_off()
        connections_in_use.clear()
        body = {"newPassword": NEW, "token": person.mailbox.tokens()[-1]}
        person.post("/auth/reset-password", body).ok()
        assert connections_in_use == [0]
