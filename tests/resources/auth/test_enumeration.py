"""Tests that no status, header or body shows whether an e-mail has an account. `tests/bench` compares the times."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.assertions.equality import outline
from tests.support.new_account import Newcomer
from tests.support.world import Answer

Make = Callable[..., Newcomer]
Ask = Callable[[Newcomer], Answer]
WRONG = "Wrong-password-1"


def _asks(path: str, **more: Any) -> Ask:
    return lambda person: person.post(path, {"email": person.email} | more)


def _in_capitals(person: Newcomer) -> Answer:
    return person.post("/auth/sign-in/email", {"email": person.email.upper(), "password": WRONG})


def _with_a_key(person: Newcomer) -> Answer:
    body = {"email": person.email, "password": WRONG}
    return person.post("/auth/sign-in/email", body, headers={"Idempotency-Key": "k", "Origin": "http://127.0.0.1:8000"})


ASKS: dict[str, Ask] = {
    "sign-in": _asks("/auth/sign-in/email", password=WRONG),
    "sign-in, not remembered": _asks("/auth/sign-in/email", password=WRONG, rememberMe=False),
    "sign-in, too short to be a password": _asks("/auth/sign-in/email", password="x"),
    "sign-in in capitals": _in_capitals,
    "sign-in with a key": _with_a_key,
    "sign-in without a password": _asks("/auth/sign-in/email"),
    "sign-up": lambda person: person.post(
        "/auth/sign-up/email", {"email": person.email, "password": "Third-Harbour-1", "name": "N"}
    ),
    "sign-up with the same password": lambda person: person.post(
        "/auth/sign-up/email", {"email": person.email, "password": person.password, "country": "DE"}
    ),
    "sign-up with an easy password": _asks("/auth/sign-up/email", password="password123"),
    "forgotten": _asks("/auth/forget-password"),
    "forgotten, under its other name": _asks("/auth/request-password-reset", redirectTo="/new"),
    "forgotten, ending elsewhere": _asks("/auth/forget-password", redirectTo="https://evil.example.org"),
    "code": _asks("/auth/send-verification-otp"),
    "code, under its other name": _asks("/auth/email-otp/send-verification-otp", type="email-verification"),
    "guess": _asks("/auth/verify-email", otp="000000"),
    "guess, under its other name": _asks("/auth/email-otp/verify-email", otp="000000"),
}


class TestWhetherAnEmailHasAnAccount:
    @pytest.mark.parametrize("name", ASKS)
    def test_shows_nowhere(self, newcomer: Make, name: str) -> None:
        known, pending, social, unknown = newcomer().join(), newcomer(), newcomer().join(), newcomer()
        pending.sign_up()
        _drop_password(social)
        people = (known, pending, social, unknown)
        for _ in range(7):  # beyond what codes, attempts and mails allow
            outlines = [outline(ASKS[name](Newcomer(one.app, one.world, one.email)), *_typed(one)) for one in people]
            assert len(set(outlines)) == 1, outlines

    def test_shows_not_in_a_body_that_is_refused(self, newcomer: Make) -> None:
        known, unknown = newcomer().join(), newcomer()
        for path in ("/auth/sign-in/email", "/auth/sign-up/email", "/auth/forget-password", "/auth/verify-email"):
            for body in ({}, {"password": 1, "otp": "x", "redirectTo": 1}, {"password": "\0", "otp": "\0"}):
                answers = [one.post(path, body | {"email": one.email}) for one in (known, unknown)]
                assert answers[0].status in (200, 400, 401)
                assert outline(answers[0], known.email) == outline(answers[1], unknown.email)


def _typed(person: Newcomer) -> tuple[str, ...]:
    return (person.email, person.email.upper(), person.email.partition("@")[0])


def _drop_password(person: Newcomer) -> None:
    """Remove the password, so that only a social login opens the account."""
    from app.extensions import db
    from app.models.user import User

    with person.app.app_context():
        db.session.query(User).filter_by(email=person.email).one().password_hash = None
        db.session.commit()
