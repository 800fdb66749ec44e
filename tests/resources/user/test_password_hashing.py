"""Tests that no route holds a database connection while it hashes or compares a password."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from argon2 import PasswordHasher
from flask import Flask

from app.extensions import db
from app.security.passwords import _dummy_hash
from tests.support.new_account import Newcomer

Make = Callable[..., Newcomer]
NEW = "Another-Harbour-1"


class Watched:
    """The hasher, noting how many connections are held whenever it begins."""

    def __init__(self, hasher: PasswordHasher, held: Callable[[], int]) -> None:
        self._hasher, self._held, self.noted = hasher, held, list[int]()

    def hash(self, *args: Any) -> str:
        self.noted.append(self._held())
        return self._hasher.hash(*args)

    def verify(self, *args: Any) -> bool:
        self.noted.append(self._held())
        return self._hasher.verify(*args)


@pytest.fixture
def watched(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    with app.app_context():
        engines: list[Any] = [db.engine, app.extensions["reading_engine"]]
    hasher = Watched(PasswordHasher(1, 8, 1), lambda: sum(engine.pool.checkedout() for engine in engines))
    monkeypatch.setattr("app.security.passwords._hasher", hasher)
    _dummy_hash.cache_clear()
    yield hasher
    _dummy_hash.cache_clear()


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


class TestWhileHashing:
    @pytest.mark.parametrize("name", ASKS)
    def test_no_connection_is_held(self, newcomer: Make, watched: Watched, name: str) -> None:
        person = newcomer().join()
        watched.noted.clear()
        ASKS[name](person)
        assert watched.noted
        assert set(watched.noted) == {0}

    def test_a_reset_holds_none(self, newcomer: Make, watched: Watched) -> None:
        person = newcomer().join()
        person.post("/auth/forget-password", {"email": person.email}).ok()
        person.world.work_off()
        watched.noted.clear()
        body = {"newPassword": NEW, "token": person.mailbox.tokens()[-1]}
        person.post("/auth/reset-password", body).ok()
        assert watched.noted == [0]
