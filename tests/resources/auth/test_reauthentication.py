"""Tests of the recent proof of the identity that some changes need."""

from collections.abc import Callable
from typing import Any

import pytest

from app.core.limits import SessionLimits
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.organization import Organization
from tests.support.authenticator import Authenticator
from tests.support.new_account import Newcomer
from tests.support.second_factor import ProtectedPerson
from tests.support.world import Answer, Browser, World

Make = Callable[..., Newcomer]
PROVE, OPTIONS = "/auth/reauthenticate", "/auth/passkey/generate-authenticate-options"
OLD = SessionLimits.recent_s + 1


def create_token(browser: Browser) -> Answer:
    """Send a request that needs a recent proof."""
    return browser.post("/tokens", {"name": "Deploy", "scopes": ["read"]})


def register(browser: Browser) -> Authenticator:
    """Register a passkey."""
    key = Authenticator()
    response = key.create(browser.get("/auth/passkey/generate-register-options").ok())
    browser.post("/auth/passkey/verify-registration", {"response": response}).ok()
    return key


class TestReauthentication:
    def test_password_counts_for_ten_minutes(self, newcomer: Make, later: Any) -> None:
        person = newcomer().join()
        create_token(person).ok(201)
        with later(seconds=OLD):
            create_token(person).fails(403, "REAUTH_REQUIRED")
            person.post(PROVE, {"password": "Wrong-password-1"}).fails(400, "INVALID_PASSWORD")
            create_token(person).fails(403, "REAUTH_REQUIRED")
            assert person.post(PROVE, {"password": person.password}).ok() == {"status": True}
            create_token(person).ok(201)
        with later(seconds=2 * OLD):
            create_token(person).fails(403, "REAUTH_REQUIRED")

    def test_passkey_counts_and_proves_the_second_factor(self, world: World, later: Any) -> None:
        person = world.person()
        key = register(person)
        with later(seconds=OLD):
            create_token(person).fails(403, "REAUTH_REQUIRED")
            person.post(PROVE, {"response": key.sign(person.get(OPTIONS).ok())}).ok()
            create_token(person).ok(201)

    def test_code_of_the_app_counts_once(self, newcomer: Make, later: Any) -> None:
        person = newcomer().join()
        app = ProtectedPerson(person).app
        with later(seconds=OLD):
            create_token(person).fails(403, "REAUTH_REQUIRED")
            person.post(PROVE, {"code": app.wrong_code()}).fails(401, "INVALID_CODE")
            code = app.code()
            person.post(PROVE, {"code": code}).ok()
            create_token(person).ok(201)
            person.post(PROVE, {"code": code}).fails(401, "INVALID_CODE")

    def test_passkey_of_another_user_returns_401(self, world: World, later: Any) -> None:
        person, other = world.person(), world.person()
        key = register(other)
        with later(seconds=OLD):
            response = key.sign(person.get(OPTIONS).ok())
            person.post(PROVE, {"response": response}).fails(401, "AUTHENTICATION_FAILED")
            create_token(person).fails(403, "REAUTH_REQUIRED")

    def test_proof_counts_in_its_own_session_only(self, newcomer: Make, later: Any) -> None:
        person = newcomer().join()
        other = person.elsewhere()
        with later(seconds=OLD):
            person.post(PROVE, {"password": person.password}).ok()
            create_token(other).fails(403, "REAUTH_REQUIRED")

    def test_proof_deletes_the_account_of_an_old_session(self, newcomer: Make, later: Any) -> None:
        person = newcomer().join()
        path = f"/user/delete/{person.get('/auth/get-session').ok()['user']['id']}"
        with later(seconds=SessionLimits.fresh_s + 1):
            person.delete(path).fails(403, "REAUTH_REQUIRED")
            person.post(PROVE, {"password": person.password}).ok()
            person.delete(path).ok()

    def test_first_password_needs_a_recent_proof(self, world: World, later: Any) -> None:
        person = world.person()
        with later(seconds=OLD):
            person.patch("/user/set-password", {"newPassword": "Quiet-Harbour-77"}).fails(403, "REAUTH_REQUIRED")
        person.patch("/user/set-password", {"newPassword": "Quiet-Harbour-77"}).ok()

    def test_password_alone_sets_up_no_factor_where_a_passkey_is_required(self, newcomer: Make, world: World) -> None:
        person = newcomer().join()
        organization = person.post("/organization", {"org_name": person.name}).ok(201)["org_id"]
        with world.app.app_context():
            row = db.session.get_one(Organization, organization)
            row.second_factor_from = utcnow_ms()
            db.session.commit()
        person.get("/organization/user").fails(403, "SECOND_FACTOR_REQUIRED")
        key = register(person)
        person.get("/organization/user").ok()
        thief = person.elsewhere()
        thief.get("/organization/user").fails(403, "SECOND_FACTOR_REQUIRED")
        thief.get("/auth/passkey/generate-register-options").fails(403, "SECOND_FACTOR_REQUIRED")
        body = {"password": person.password}
        thief.post("/auth/two-factor/enable", body).fails(403, "SECOND_FACTOR_REQUIRED")
        thief.post(PROVE, body).ok()
        thief.get("/organization/user").fails(403, "SECOND_FACTOR_REQUIRED")
        thief.post(PROVE, {"response": key.sign(thief.get(OPTIONS).ok())}).ok()
        thief.get("/organization/user").ok()

    @pytest.mark.one_database
    @pytest.mark.parametrize("body", [{}, {"password": None}, {"password": "a", "response": {"id": "a"}}])
    def test_body_needs_exactly_one_proof(self, world: World, body: dict[str, Any]) -> None:
        world.person().post(PROVE, body).fails(400, "VALIDATION_FAILED")
