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


class RecordingHasher:
    """Password hasher that records the number of connections in use before each call."""

    def __init__(self, hasher: PasswordHasher, held: Callable[[], int]) -> None:
        self._hasher, self._held, self.noted = hasher, held, list[int]()

    def hash(self, *args: Any) -> str:
        self.noted.append(self._held())
        return self._hasher.hash(*args)

    def verify(self, *args: Any) -> bool:
        self.noted.append(self._held())
        return self._hasher.verify(*args)


@pytest.fixture
def recording_hasher(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingHasher]:
    with app.app_context():
        engines: list[Any] = [db.engine, app.extensions["reading_engine"]]
    hasher = RecordingHasher(PasswordHasher(1, 8, 1), lambda: sum(engine.pool.checkedout() for engine in engines))
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


class TestPasswordHashing:
    @pytest.mark.parametrize("name", ASKS)
    def test_hashing_request_uses_no_connection(
        self, newcomer: Make, recording_hasher: RecordingHasher, name: str
    ) -> None:
        person = newcomer().join()
        recording_hasher.noted.clear()
        ASKS[name](person)
        assert recording_hasher.noted
        assert set(recording_hasher.noted) == {0}

    def test_password_reset_uses_no_connection(self, newcomer: Make, recording_hasher: RecordingHasher) -> None:
        person = newcomer().join()
        person.post("/auth/forget-password", {"email": person.email}).ok()
        person.world.work_off()
        recording_hasher.noted.clear()
        body = {"newPassword": NEW, "token": person.mailbox.tokens()[-1]}
        person.post("/auth/reset-password", body).ok()
        assert recording_hasher.noted == [0]
