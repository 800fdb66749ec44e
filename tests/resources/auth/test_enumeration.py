"""Tests that no status, header or body shows whether an e-mail has an account. `tests/bench` compares the times."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.assertions.equality import outline
from tests.support.new_account import Newcomer
from tests.support.world import Answer

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

Make = Callable[..., Newcomer]
Ask = Callable[[Newcomer], Answer]
WRONG = "Wrong-password-1"


def _request(path: str, **more: Any) -> Ask:
    return lambda person: person.post(path, {"email": person.email} | more)


def _uppercase_sign_in(person: Newcomer) -> Answer:
    return person.post("/auth/sign-in/email", {"email": person.email.upper(), "password": WRONG})


def _sign_in_with_idempotency_key(person: Newcomer) -> Answer:
    body = {"email": person.email, "password": WRONG}
    return person.post("/auth/sign-in/email", body, headers={"Idempotency-Key": "k", "Origin": "http://127.0.0.1:8000"})


ASKS: dict[str, Ask] = {
    "sign-in": _request("/auth/sign-in/email", password=WRONG),
    "sign-in, not remembered": _request("/auth/sign-in/email", password=WRONG, rememberMe=False),
    "sign-in, too short to be a password": _request("/auth/sign-in/email", password="x"),
    "sign-in in capitals": _uppercase_sign_in,
    "sign-in with a key": _sign_in_with_idempotency_key,
    "sign-in without a password": _request("/auth/sign-in/email"),
    "sign-up": lambda person: person.post(
        "/auth/sign-up/email", {"email": person.email, "password": "Third-Harbour-1", "name": "N"}
    ),
    "sign-up with the same password": lambda person: person.post(
        "/auth/sign-up/email", {"email": person.email, "password": person.password, "country": "DE"}
    ),
    "sign-up with an easy password": _request("/auth/sign-up/email", password="password123"),
    "forgotten": _request("/auth/forget-password"),
    "forgotten, under its other name": _request("/auth/request-password-reset", redirectTo="/new"),
    "forgotten, ending elsewhere": _request("/auth/forget-password", redirectTo="https://evil.example.org"),
    "code": _request("/auth/send-verification-otp"),
    "code, under its other name": _request("/auth/email-otp/send-verification-otp", type="email-verification"),
    "guess": _request("/auth/verify-email", otp="000000"),
    "guess, under its other name": _request("/auth/email-otp/verify-email", otp="000000"),
}


class TestEnumeration:
    @pytest.mark.parametrize("name", ASKS)
    def test_repeated_responses_are_equal_for_known_and_unknown_email(self, newcomer: Make, name: str) -> None:
        known, pending, social, unknown = newcomer().join(), newcomer(), newcomer().join(), newcomer()
        pending.sign_up()
        _drop_password(social)
        people = (known, pending, social, unknown)
        for _ in range(7):  # beyond what codes, attempts and mails allow
            outlines = [
                outline(ASKS[name](Newcomer(one.app, one.world, one.email)), *_identifiers(one)) for one in people
            ]
            assert len(set(outlines)) == 1, outlines

    def test_validation_errors_are_equal_for_known_and_unknown_email(self, newcomer: Make) -> None:
        known, unknown = newcomer().join(), newcomer()
        for path in ("/auth/sign-in/email", "/auth/sign-up/email", "/auth/forget-password", "/auth/verify-email"):
            for body in ({}, {"password": 1, "otp": "x", "redirectTo": 1}, {"password": "\0", "otp": "\0"}):
                answers = [one.post(path, body | {"email": one.email}) for one in (known, unknown)]
                assert answers[0].status in (200, 400, 401)
                assert outline(answers[0], known.email) == outline(answers[1], unknown.email)


def _identifiers(person: Newcomer) -> tuple[str, ...]:
    return (person.email, person.email.upper(), person.email.partition("@")[0])


def _drop_password(person: Newcomer) -> None:
    """Remove the password, so that only a social login opens the account."""
    from app.extensions import db
    from app.models.user import User

    with person.app.app_context():
        db.session.query(User).filter_by(email=person.email).one().password_hash = None
        db.session.commit()
