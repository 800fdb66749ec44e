"""Tests of passkeys through the API, with an authenticator in software."""

from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

from app.core.limits import CodeLimits
from app.extensions import db
from app.models.login import Session
from app.resources.auth.passkeys.service import MAX_PASSKEYS_PER_USER
from tests.support.authenticator import Authenticator
from tests.support.parallel import together
from tests.support.world import Answer, Browser, Person, World

NEW, VERIFY_NEW = "/auth/passkey/generate-register-options", "/auth/passkey/verify-registration"
SIGN_IN, VERIFY = "/auth/passkey/generate-authenticate-options", "/auth/passkey/verify-authentication"
LIST = "/auth/passkey/list-user-passkeys"


def register(person: Person, key: Authenticator, name: str | None = None) -> Answer:
    """Register a passkey."""
    response = key.create(person.get(NEW).ok())
    return person.post(VERIFY_NEW, {"response": response, "name": name})


def sign_in(browser: Browser, key: Authenticator) -> Answer:
    """Sign in with a passkey."""
    return browser.post(VERIFY, {"response": key.sign(browser.get(SIGN_IN).ok())})


@pytest.fixture
def person(world: World) -> Person:
    """Return a user without passkeys."""
    return world.person()


@pytest.fixture
def key(person: Person) -> Authenticator:
    """Return a passkey of the user."""
    key = Authenticator()
    register(person, key, "Laptop").ok()
    return key


class TestRegistration:
    def test_options_require_a_discoverable_key_and_the_verification_of_the_user(self, person: Person) -> None:
        options = person.get(f"{NEW}?name=Desk&authenticatorAttachment=platform").ok()
        assert options["authenticatorSelection"] == {
            "authenticatorAttachment": "platform",
            "residentKey": "required",
            "requireResidentKey": True,
            "userVerification": "required",
        }
        assert (options["rp"]["id"], options["user"]["name"]) == ("127.0.0.1", "Desk")
        assert base64url_to_bytes(options["user"]["id"]).decode() == person.id
        assert options["excludeCredentials"] == []

    def test_registration_returns_the_passkey_and_excludes_it_from_the_next_one(self, person: Person) -> None:
        key = Authenticator(is_synced=True)
        row = register(person, key, "Phone").ok()
        assert (row["name"], row["userId"], row["deviceType"], row["backedUp"]) == (
            "Phone", person.id, "multiDevice", True,
        )  # fmt: skip
        assert row["transports"] == "internal"
        assert person.get(LIST).ok() == [row]
        excluded = person.get(NEW).ok()["excludeCredentials"]
        assert excluded == [{"id": row["credentialID"], "type": "public-key", "transports": ["internal"]}]

    def test_account_without_verified_email_returns_403(self, world: World) -> None:
        world.person(verified=False).get(NEW).fails(403, "EMAIL_NOT_VERIFIED")

    def test_second_person_with_the_same_credential_returns_400(self, world: World, key: Authenticator) -> None:
        other = world.person()
        register(other, key).fails(400, "PREVIOUSLY_REGISTERED")
        assert other.get(LIST).ok() == []

    @pytest.mark.parametrize(
        "change", [{"is_verified": False}, {"origin": "http://evil.example"}, {"rp_id": "evil.example"}]
    )
    def test_response_of_another_context_returns_400(self, person: Person, change: dict[str, Any]) -> None:
        register(person, replace(Authenticator(), **change)).fails(400, "FAILED_TO_VERIFY_REGISTRATION")

    def test_challenge_of_another_user_returns_400(self, person: Person, world: World) -> None:
        response = Authenticator().create(world.person().get(NEW).ok())
        person.get(NEW).ok()
        person.post(VERIFY_NEW, {"response": response}).fails(400, "CHALLENGE_NOT_FOUND")

    def test_challenge_of_a_sign_in_returns_400(self, person: Person) -> None:
        options = person.get(NEW).ok() | {"challenge": person.get(SIGN_IN).ok()["challenge"]}
        person.post(VERIFY_NEW, {"response": Authenticator().create(options)}).fails(400, "CHALLENGE_NOT_FOUND")

    def test_challenge_is_used_by_a_failed_registration(self, person: Person) -> None:
        options = person.get(NEW).ok()
        bad = Authenticator(is_verified=False).create(options)
        person.post(VERIFY_NEW, {"response": bad}).fails(400, "FAILED_TO_VERIFY_REGISTRATION")
        good = Authenticator().create(options)
        person.post(VERIFY_NEW, {"response": good}).fails(400, "CHALLENGE_NOT_FOUND")

    @pytest.mark.one_database
    def test_user_with_the_largest_number_of_passkeys_returns_403(self, person: Person) -> None:
        for _ in range(MAX_PASSKEYS_PER_USER):
            register(person, Authenticator()).ok()
        register(person, Authenticator()).fails(403, "LIMIT_REACHED")

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("response", "path"),
        [(None, "response"), ("text", "response"), ({}, "response.id"), ({"response": 3}, "response.response")],
    )
    def test_body_without_response_names_the_field(self, person: Person, response: object, path: str) -> None:
        person.post(VERIFY_NEW, {"response": response}).fails(400, "VALIDATION_FAILED", path)


class TestSignIn:
    def test_sign_in_needs_no_name_and_opens_a_session(self, world: World, person: Person, key: Authenticator) -> None:
        browser = world.anonymous()
        options = browser.get(SIGN_IN).ok()
        assert "allowCredentials" not in options
        result = browser.post(VERIFY, {"response": key.sign(options)}).ok()
        assert (result["user"]["id"], result["session"]["userId"]) == (person.id, person.id)
        session = browser.get("/auth/get-session").ok()
        assert session["session"]["id"] == result["session"]["id"]
        [row] = browser.get(LIST).ok()
        assert (row["counter"], row["lastUsedAt"] is None) == (1, False)
        with world.app.app_context():
            assert db.session.get_one(Session, result["session"]["id"]).second_factor_at is not None

    def test_options_of_a_signed_in_user_name_the_own_passkeys(self, person: Person, key: Authenticator) -> None:
        allowed = person.get(SIGN_IN).ok()["allowCredentials"]
        assert [item["id"] for item in allowed] == [bytes_to_base64url(key.credential_id)]

    def test_challenge_is_used_once(self, world: World, key: Authenticator) -> None:
        browser = world.anonymous()
        response = key.sign(browser.get(SIGN_IN).ok())
        browser.post(VERIFY, {"response": response}).ok()
        browser.post(VERIFY, {"response": response}).fails(400, "CHALLENGE_NOT_FOUND")

    def test_challenge_of_another_browser_returns_400(self, world: World, key: Authenticator) -> None:
        first, second = world.anonymous(), world.anonymous()
        response = key.sign(first.get(SIGN_IN).ok())
        second.get(SIGN_IN).ok()
        second.post(VERIFY, {"response": response}).fails(400, "CHALLENGE_NOT_FOUND")
        first.post(VERIFY, {"response": response}).ok()

    def test_challenge_expires_after_ten_minutes(self, world: World, key: Authenticator, later: Any) -> None:
        browser = world.anonymous()
        response = key.sign(browser.get(SIGN_IN).ok())
        with later(seconds=CodeLimits.state_ttl_s + 1):
            browser.post(VERIFY, {"response": response}).fails(400, "CHALLENGE_NOT_FOUND")

    def test_parallel_requests_with_one_challenge_succeed_once(self, world: World, key: Authenticator) -> None:
        browser = world.anonymous()
        response = key.sign(browser.get(SIGN_IN).ok())
        cookie = browser.client.get_cookie("login_browser")
        assert cookie is not None
        browsers = [world.anonymous() for _ in range(20)]
        for copy in browsers:
            copy.client.set_cookie("login_browser", cookie.value)
        statuses = together([lambda c=c: c.post(VERIFY, {"response": response}).status for c in browsers])
        assert sorted(statuses) == [200] + [400] * 19

    @pytest.mark.parametrize(
        "change",
        [
            {"is_verified": False},
            {"origin": "http://evil.example"},
            {"origin": "http://127.0.0.1:8001"},
            {"rp_id": "evil.example"},
            {"is_synced": True},
        ],
    )
    def test_response_of_another_context_returns_401(
        self, world: World, key: Authenticator, change: dict[str, Any]
    ) -> None:
        sign_in(world.anonymous(), replace(key, **change)).fails(401, "AUTHENTICATION_FAILED")

    @pytest.mark.parametrize("part", ["clientDataJSON", "authenticatorData", "signature"])
    def test_changed_byte_returns_an_error(self, world: World, key: Authenticator, part: str) -> None:
        browser = world.anonymous()
        response = key.sign(browser.get(SIGN_IN).ok())
        content = bytearray(base64url_to_bytes(response["response"][part]))
        content[-1 if part != "clientDataJSON" else 3] ^= 1
        response["response"][part] = bytes_to_base64url(bytes(content))
        assert browser.post(VERIFY, {"response": response}).status in (400, 401)
        browser.get("/auth/get-session").fails(401)

    def test_key_of_another_user_returns_401(self, world: World, key: Authenticator) -> None:
        other = Authenticator()
        register(world.person(), other).ok()
        forged = replace(other, credential_id=key.credential_id)
        sign_in(world.anonymous(), forged).fails(401, "AUTHENTICATION_FAILED")
        named = replace(key, user_handle=other.user_handle)
        sign_in(world.anonymous(), named).fails(401, "AUTHENTICATION_FAILED")

    def test_unknown_credential_returns_401(self, world: World) -> None:
        sign_in(world.anonymous(), Authenticator()).fails(401, "PASSKEY_NOT_FOUND")

    def test_copy_of_a_device_bound_key_with_an_old_counter_is_refused(self, world: World, key: Authenticator) -> None:
        copy = replace(key)
        sign_in(world.anonymous(), key).ok()
        with capture_logs() as lines:
            sign_in(world.anonymous(), copy).fails(401, "AUTHENTICATION_FAILED")
        [line] = [line for line in lines if line["event"] == "passkey.counter_regressed"]
        assert (line["stored"], line["reported"], line["is_synced"]) == (1, 1, False)
        sign_in(world.anonymous(), key).ok()

    def test_old_counter_of_a_synced_key_is_logged_and_accepted(self, world: World, person: Person) -> None:
        key = Authenticator(is_synced=True, counter=5)
        register(person, key).ok()
        other_device = replace(key, counter=2)
        with capture_logs() as lines:
            sign_in(world.anonymous(), other_device).ok()
        assert [line["reported"] for line in lines if line["event"] == "passkey.counter_regressed"] == [3]

    def test_key_without_counter_signs_in_repeatedly(self, world: World, person: Person) -> None:
        key = Authenticator(counter=None)
        register(person, key).ok()
        for _ in range(2):
            sign_in(world.anonymous(), key).ok()

    def test_parallel_sign_ins_with_one_counter_succeed_once(self, world: World, key: Authenticator) -> None:
        browsers = [world.anonymous() for _ in range(6)]
        responses = [replace(key).sign(browser.get(SIGN_IN).ok()) for browser in browsers]
        calls = zip(browsers, responses, strict=True)
        statuses = together([lambda b=b, r=r: b.post(VERIFY, {"response": r}).status for b, r in calls])
        assert sorted(statuses) == [200] + [401] * 5


class TestChange:
    def test_owner_renames_and_deletes_a_passkey(self, world: World, person: Person, key: Authenticator) -> None:
        [row] = person.get(LIST).ok()
        renamed = person.post("/auth/passkey/update-passkey", {"id": row["id"], "name": "Desk"}).ok()
        assert renamed == {"passkey": row | {"name": "Desk"}}
        assert person.post("/auth/passkey/delete-passkey", {"id": row["id"]}).ok() == {"status": True}
        assert person.get(LIST).ok() == []
        sign_in(world.anonymous(), key).fails(401, "PASSKEY_NOT_FOUND")

    def test_passkey_of_another_user_returns_404(self, world: World, person: Person, key: Authenticator) -> None:
        [row] = person.get(LIST).ok()
        other = world.person()
        other.post("/auth/passkey/update-passkey", {"id": row["id"], "name": "Mine"}).fails(404, "PASSKEY_NOT_FOUND")
        other.post("/auth/passkey/delete-passkey", {"id": row["id"]}).fails(404, "PASSKEY_NOT_FOUND")
        assert person.get(LIST).ok() == [row]


@pytest.mark.one_database
class TestHostileResponses:
    def test_every_shortened_registration_is_refused(self, person: Person) -> None:
        response = Authenticator().create(person.get(NEW).ok())
        whole = base64url_to_bytes(response["response"]["attestationObject"])
        for end in range(0, len(whole), 7):
            options = person.get(NEW).ok()
            changed = Authenticator().create(options)
            changed["response"]["attestationObject"] = bytes_to_base64url(whole[:end])
            person.post(VERIFY_NEW, {"response": changed}).fails(400, "FAILED_TO_VERIFY_REGISTRATION")

    @pytest.mark.parametrize(
        "parts",
        [
            {"attestationObject": bytes_to_base64url(b"\x81" * 3000)},
            {"attestationObject": bytes_to_base64url(b"\xa3cfmtdnonegattStmt\xa0hauthData\x00")},
            {"attestationObject": 5},
            {"transports": [{}, 3, None]},
            {"clientDataJSON": []},
        ],
    )
    def test_malformed_registration_is_refused_or_ignored(self, person: Person, parts: dict[str, Any]) -> None:
        response = Authenticator().create(person.get(NEW).ok())
        response["response"] |= parts
        assert person.post(VERIFY_NEW, {"response": response}).status in (200, 400)

    @pytest.mark.parametrize("name", ["id", "rawId", "type", "userHandle", "authenticatorData", "signature"])
    @pytest.mark.parametrize("value", [None, 7, [], {}, "", "é", "A" * 2000])
    def test_malformed_sign_in_is_refused(self, world: World, key: Authenticator, name: str, value: object) -> None:
        browser = world.anonymous()
        response = key.sign(browser.get(SIGN_IN).ok())
        (response if name in response else response["response"])[name] = value
        answer = browser.post(VERIFY, {"response": response})
        assert answer.status in ((200,) if (name, value) == ("userHandle", None) else (400, 401))
