"""Tests of the social login through the API with doubles of both providers."""

import dataclasses
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask

from app.core.limits import CodeLimits
from app.drivers import registry
from config import Settings
from tests.support.doubles.social import SocialDouble
from tests.support.new_account import Newcomer
from tests.support.second_factor import ProtectedPerson
from tests.support.world import World

Make = Callable[..., Newcomer]
HOME = "http://127.0.0.1:8000/home"


@pytest.fixture(scope="module")
def providers() -> Iterator[SocialDouble]:
    with SocialDouble() as running:
        yield running


@pytest.fixture(autouse=True)
def social_logins(app: Flask, providers: SocialDouble, tmp_path: Any) -> Iterator[None]:
    """Configure both providers in the application."""
    known = app.extensions["drivers"]
    made = registry.social_logins(Settings.for_tests(tmp_path, **providers.environment))
    app.extensions["drivers"] = dataclasses.replace(known, social_login=made)
    yield
    app.extensions["drivers"] = known


def start_sign_in(person: Newcomer, provider: str = "social_a", page: str = HOME) -> str:
    """Return the authorization URL of the provider."""
    begun = person.post("/auth/sign-in/social", {"provider": provider, "callbackURL": page}).ok()
    assert begun["redirect"] is True
    return str(begun["url"])


def call_back(person: Newcomer, query: dict[str, str], provider: str = "social_a") -> str:
    """Return the URL to which the callback redirects."""
    answer = person.get(f"/auth/callback/{provider}", query_string=query)
    assert answer.status == 302
    return str(answer.headers["Location"])


def error_of(location: str) -> str:
    assert location.startswith("http://127.0.0.1:8000/?")
    return parse_qs(urlsplit(location).query)["error"][0]


def sign_in(person: Newcomer, double: SocialDouble, provider: str = "social_a", **who: Any) -> str:
    query = double.approve(start_sign_in(person, provider), who.pop("email", person.email), **who)
    return call_back(person, query, provider)


@pytest.mark.parametrize("provider", ["social_a", "social_b"])
class TestSignIn:
    def test_new_user_receives_a_verified_account(self, newcomer: Make, providers: SocialDouble, provider: str) -> None:
        person = newcomer()
        assert sign_in(person, providers, provider) == HOME
        user = person.get("/auth/get-session").ok()["user"]
        assert (user["email"], user["emailVerified"], user["provider"]) == (person.email, True, provider)
        profile = person.get(f"/user/{user['id']}").ok()
        assert profile["has_password"] is False
        assert [one["providerId"] for one in profile["accounts"]] == [provider]
        assert [one["default"] for one in person.get("/organization/user").ok()] == [True]

    def test_name_of_the_provider_is_stored_on_one_line(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person = newcomer()
        sign_in(person, providers, provider, name=" Ada\r\n\u202eLovelace ")
        assert person.get("/auth/get-session").ok()["user"]["name"] == "Ada Lovelace"

    @pytest.mark.one_database
    def test_failure_redirects_to_the_error_callback(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person = newcomer()
        body = {"provider": provider, "callbackURL": HOME, "errorCallbackURL": f"{HOME}/failed?tab=1#top"}
        query = providers.approve(str(person.post("/auth/sign-in/social", body).ok()["url"]), None)
        assert call_back(person, query, provider) == f"{HOME}/failed?tab=1&error=email_not_found#top"

    def test_success_ignores_the_error_callback(self, newcomer: Make, providers: SocialDouble, provider: str) -> None:
        person = newcomer()
        body = {"provider": provider, "callbackURL": HOME, "errorCallbackURL": f"{HOME}/failed"}
        query = providers.approve(str(person.post("/auth/sign-in/social", body).ok()["url"]), person.email)
        assert call_back(person, query, provider) == HOME

    def test_url_in_the_name_of_the_provider_is_removed(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person = newcomer()
        sign_in(person, providers, provider, name="<b>https://evil.example.org/x</b>")
        assert person.get("/auth/get-session").ok()["user"]["name"] == "b https evil example org x b"

    def test_known_subject_with_another_email_opens_the_same_account(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person, other = newcomer(), newcomer()
        subject = hash(person.email) % 10**9
        sign_in(person, providers, provider, subject=subject)
        sign_in(other, providers, provider, subject=subject)
        assert other.get("/auth/get-session").ok()["user"]["email"] == person.email

    def test_known_verified_email_is_linked(self, newcomer: Make, providers: SocialDouble, provider: str) -> None:
        person = newcomer().join()
        assert sign_in(newcomer(person.email), providers, provider) == HOME
        accounts = [one["providerId"] for one in person.get("/auth/list-accounts").ok()]
        assert accounts == ["credential", provider]
        person.sign_in().ok()

    def test_user_with_a_second_factor_proves_it_after_the_provider(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        protected = ProtectedPerson(newcomer().join())
        browser = newcomer(protected.person.email)
        assert sign_in(browser, providers, provider) == f"{HOME}?twoFactorRedirect=true"
        browser.get("/auth/get-session").fails(401)
        protected.verify(protected.app.wrong_code(), browser=browser).fails(401)
        protected.verify(protected.app.code(), browser=browser).ok()
        assert browser.get("/auth/get-session").ok()["user"]["email"] == protected.person.email

    def test_known_email_unverified_by_the_provider_is_not_linked(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person = newcomer().join()
        stranger = newcomer(person.email)
        assert error_of(sign_in(stranger, providers, provider, verified=False)) == "account_not_linked"
        stranger.get("/auth/get-session").fails(401)

    def test_unverified_account_loses_its_password_and_sessions(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        attacker = newcomer()
        attacker.sign_up()
        owner = newcomer(attacker.email)
        assert sign_in(owner, providers, provider) == HOME
        attacker.sign_in(attacker.password).fails(401)
        assert owner.get("/auth/get-session").ok()["user"]["emailVerified"] is True

    def test_unverified_account_of_another_login_loses_that_login_and_its_sessions(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        other = {"social_a": "social_b", "social_b": "social_a"}[provider]
        attacker, subject = newcomer(), secrets.randbelow(10**9)
        sign_in(attacker, providers, other, verified=False, subject=subject)
        assert attacker.get("/auth/get-session").ok()["user"]["emailVerified"] is False
        owner = newcomer(attacker.email)
        assert sign_in(owner, providers, provider) == HOME
        attacker.get("/auth/get-session").fails(401)
        assert [one["providerId"] for one in owner.get("/auth/list-accounts").ok()] == [provider]
        assert error_of(sign_in(attacker, providers, other, verified=False, subject=subject)) == "account_not_linked"

    def test_email_unverified_by_the_provider_opens_an_unverified_session_and_mails_a_code(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person = newcomer()
        assert sign_in(person, providers, provider, verified=False) == HOME
        assert person.get("/auth/get-session").ok()["user"]["emailVerified"] is False
        person.get("/organization/user").fails(403, "EMAIL_NOT_VERIFIED")
        person.world.work_off()
        person.verify().ok()
        assert len(person.get("/organization/user").ok()) == 1

    @pytest.mark.one_database
    def test_missing_email_redirects_with_email_not_found(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        assert error_of(sign_in(newcomer(), providers, provider, email=None)) == "email_not_found"

    @pytest.mark.one_database
    def test_second_callback_of_an_attempt_redirects_with_state_mismatch(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person = newcomer()
        query = providers.approve(start_sign_in(person, provider), person.email)
        assert call_back(person, query, provider) == HOME
        assert error_of(call_back(person, query, provider)) == "state_mismatch"

    def test_used_code_redirects_with_code_rejected(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person, thief = newcomer(), newcomer()
        used = providers.approve(start_sign_in(person, provider), person.email)
        assert call_back(person, used, provider) == HOME
        own = providers.approve(start_sign_in(thief, provider), thief.email)
        assert error_of(call_back(thief, own | {"code": used["code"]}, provider)) == "code_rejected"
        thief.get("/auth/get-session").fails(401)

    @pytest.mark.one_database
    def test_code_of_another_attempt_redirects_with_code_rejected(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        """A code is valid only with the PKCE verifier of its attempt."""
        victim, thief = newcomer(), newcomer()
        stolen = providers.approve(start_sign_in(victim, provider), victim.email)
        own = providers.approve(start_sign_in(thief, provider), thief.email)
        assert error_of(call_back(thief, own | {"code": stolen["code"]}, provider)) == "code_rejected"
        thief.get("/auth/get-session").fails(401)

    @pytest.mark.one_database
    def test_callback_in_another_browser_redirects_with_state_mismatch(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person, victim = newcomer(), newcomer()
        query = providers.approve(start_sign_in(person, provider), person.email)
        assert error_of(call_back(victim, query, provider)) == "state_mismatch"
        start_sign_in(victim, provider)
        assert error_of(call_back(victim, query, provider)) == "state_mismatch"
        assert call_back(person, query, provider) == HOME

    @pytest.mark.one_database
    def test_unknown_code_redirects_with_code_rejected(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person = newcomer()
        query = providers.approve(start_sign_in(person, provider), person.email) | {"code": "made-up"}
        assert error_of(call_back(person, query, provider)) == "code_rejected"

    @pytest.mark.one_database
    def test_error_of_the_provider_is_passed_to_the_redirect(
        self, newcomer: Make, providers: SocialDouble, provider: str
    ) -> None:
        person = newcomer()
        state = parse_qs(urlsplit(start_sign_in(person, provider)).query)["state"][0]
        assert error_of(call_back(person, {"state": state, "error": "access_denied"}, provider)) == "access_denied"

    def test_expired_attempt_redirects_with_state_mismatch(
        self, newcomer: Make, providers: SocialDouble, provider: str, later
    ) -> None:
        person = newcomer()
        query = providers.approve(start_sign_in(person, provider), person.email)
        with later(seconds=CodeLimits.state_ttl_s + 1):
            assert error_of(call_back(person, query, provider)) == "state_mismatch"


class TestProviderSelection:
    @pytest.mark.one_database
    def test_callback_of_another_provider_redirects_with_state_mismatch(
        self, newcomer: Make, providers: SocialDouble
    ) -> None:
        person = newcomer()
        query = providers.approve(start_sign_in(person, "social_a"), person.email)
        assert error_of(call_back(person, query, "social_b")) == "state_mismatch"

    @pytest.mark.parametrize(("alias", "provider"), [("github", "social_a"), ("google", "social_b")])
    def test_provider_alias_signs_in(self, newcomer: Make, providers: SocialDouble, alias: str, provider: str) -> None:
        person = newcomer()
        assert call_back(person, providers.approve(start_sign_in(person, alias), person.email), alias) == HOME
        assert person.get("/auth/get-session").ok()["user"]["provider"] == provider

    def test_second_account_of_a_provider_is_not_linked(self, newcomer: Make, providers: SocialDouble) -> None:
        person = newcomer()
        sign_in(person, providers, subject=1_000_001)
        assert error_of(sign_in(newcomer(person.email), providers, subject=1_000_002)) == "account_not_linked"


@pytest.mark.one_database
class TestCallbackUrl:
    @pytest.mark.parametrize(
        "page", ["https://evil.example.org/", "//evil.example.org", "/\\evil.example.org", "http://[::1"]
    )
    def test_callback_url_of_another_host_returns_403(self, newcomer: Make, page: str) -> None:
        body = {"provider": "social_a", "callbackURL": page}
        newcomer().post("/auth/sign-in/social", body).fails(403, "INVALID_REDIRECT")

    def test_missing_callback_url_redirects_to_the_web_app(self, newcomer: Make, providers: SocialDouble) -> None:
        person = newcomer()
        url = person.post("/auth/sign-in/social", {"provider": "social_a"}).ok()["url"]
        assert call_back(person, providers.approve(url, person.email)) == "http://127.0.0.1:8000/"


@pytest.mark.one_database
class TestFaults:
    def test_missing_or_unknown_state_redirects_to_the_web_app(self, newcomer: Make) -> None:
        assert error_of(call_back(newcomer(), {})) == "state_mismatch"
        assert error_of(call_back(newcomer(), {"state": "x", "code": "y", "error": "<script>"})) == "state_mismatch"

    def test_failing_provider_redirects_to_the_web_app(self, newcomer: Make, providers: SocialDouble) -> None:
        person = newcomer()
        query = providers.approve(start_sign_in(person), person.email)
        providers.fault = 500
        try:
            assert error_of(call_back(person, query)) == "provider_unavailable"
        finally:
            providers.fault = None

    def test_unconfigured_provider_returns_404(self, app: Flask, world: World) -> None:
        known = app.extensions["drivers"]
        app.extensions["drivers"] = dataclasses.replace(known, social_login={})
        try:
            world.anonymous().post("/auth/sign-in/social", {"provider": "social_a"}).fails(404, "PROVIDER_NOT_FOUND")
        finally:
            app.extensions["drivers"] = known


class TestRaces:
    def test_parallel_first_logins_create_one_account(self, newcomer: Make, providers: SocialDouble) -> None:
        address = newcomer().email
        people = [newcomer(address) for _ in range(8)]
        queries = [providers.approve(start_sign_in(one), address, subject=4_711_000) for one in people]
        ends: list[str] = []
        threads = [
            threading.Thread(target=lambda one=one, query=query: ends.append(call_back(one, query)))
            for one, query in zip(people, queries, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ends) == 8
        assert HOME in ends
        assert {end for end in ends if end != HOME} <= {"http://127.0.0.1:8000/?error=try_again"}
        ids = {one.get("/auth/get-session").json["user"]["id"] for one in people if one.token}
        assert len(ids) == 1
