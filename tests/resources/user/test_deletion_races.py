"""Tests of writes during the deletion of the account. `RACE_ROUNDS` sets the number of rounds."""

import os
from collections.abc import Callable
from functools import partial

import pytest

from tests.support.new_account import Newcomer
from tests.support.parallel import patiently, together
from tests.support.world import Answer

pytestmark = pytest.mark.slow

Make = Callable[..., Newcomer]
Write = Callable[[Newcomer, str], Answer]
NEW = "Another-Harbour-1"
ROUNDS = int(os.environ.get("RACE_ROUNDS", "3"))

WRITES: dict[str, Write] = {
    "sign-in": lambda browser, _: browser.sign_in(),
    "set-password": lambda browser, _: browser.patch(
        "/user/set-password", {"newPassword": NEW, "currentPassword": browser.password}
    ),
    "change-password": lambda browser, _: browser.post(
        "/auth/change-password", {"newPassword": NEW, "currentPassword": browser.password}
    ),
    "update-user": lambda browser, _: browser.post("/auth/update-user", {"name": "New name"}),
    "update-country": lambda browser, user_id: browser.patch(f"/user/update-country/{user_id}", {"country": "DE"}),
    "update-newsletter": lambda browser, user_id: browser.patch(
        f"/user/update-newsletter/{user_id}", {"subscribed": True}
    ),
    "theme": lambda browser, user_id: browser.patch(f"/user-preference/theme/{user_id}", {"theme": "dark"}),
    "ensure-default": lambda browser, _: browser.post("/organization/ensure-default", {}),
    "forget-password": lambda browser, _: browser.post("/auth/forget-password", {"email": browser.email}),
}
VANISHED = {401, 404, 409, 400}
"""Statuses of a request whose account was deleted. `Answer` refuses 500."""


@pytest.mark.parametrize("name", sorted(WRITES))
def test_write_during_the_deletion_succeeds_or_reports_the_missing_account(newcomer: Make, name: str) -> None:
    for _ in range(ROUNDS):
        person = newcomer().join()
        user_id = str(person.get("/auth/get-session").ok()["user"]["id"])
        calls = [patiently(partial(WRITES[name], person.elsewhere(), user_id)) for _ in range(3)]
        *writes, deletion = together([*calls, patiently(partial(person.delete, f"/user/delete/{user_id}"))])
        assert deletion.status in {200, 401, 404}, deletion.json
        assert {write.status for write in writes} <= {200} | VANISHED, [write.json for write in writes]
        if deletion.status == 200:
            person.sign_in().fails(401)
