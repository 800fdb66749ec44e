"""Contract of login providers. The test class of an implementation inherits it and defines the fixture `login`."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from app.drivers.errors import UpstreamError, UpstreamRejected, UpstreamUnavailable
from app.drivers.social_login.port import AuthorizationRequest, SocialLogin
from tests.support.doubles.social import SocialDouble

ATTEMPT = AuthorizationRequest("state-1", "v" * 43, "nonce-1", "http://127.0.0.1:8000/back")


class SocialLoginContract:
    def test_authorization_url_contains_state_challenge_and_redirect_and_no_secret(self, login: SocialLogin) -> None:
        url = login.authorization_url(ATTEMPT)
        query = parse_qs(urlsplit(url).query)
        assert query["state"] == ["state-1"]
        assert query["code_challenge_method"] == ["S256"]
        assert query["redirect_uri"] == ["http://127.0.0.1:8000/back"]
        assert ATTEMPT.code_verifier not in url
        assert "secret" not in url

    def test_identify_returns_the_identity_of_the_code(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org", subject=7)
        identity = login.identify(back["code"], ATTEMPT)
        assert (identity.subject, identity.email, identity.email_verified) == ("7", "a@mail.example.org", True)
        assert identity.name == "Social Person"

    def test_identify_with_an_unverified_email_returns_it_as_unverified(
        self, login: SocialLogin, double: SocialDouble
    ) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org", verified=False)
        assert login.identify(back["code"], ATTEMPT).email_verified is False

    def test_identify_without_an_email_returns_none_as_email(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), None)
        assert login.identify(back["code"], ATTEMPT).email is None

    def test_identify_with_an_invalid_code_raises_upstream_rejected(self, login: SocialLogin) -> None:
        with pytest.raises(UpstreamRejected):
            login.identify("made-up", ATTEMPT)

    def test_identify_with_a_wrong_verifier_raises_upstream_rejected(
        self, login: SocialLogin, double: SocialDouble
    ) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        with pytest.raises(UpstreamRejected):
            login.identify(back["code"], replace(ATTEMPT, code_verifier="w" * 43))

    def test_identify_with_a_failing_provider_raises_upstream_error(
        self, login: SocialLogin, double: SocialDouble
    ) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        double.fault = 502
        with pytest.raises(UpstreamError):
            login.identify(back["code"], ATTEMPT)

    def test_identify_does_not_follow_a_redirect(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        double.fault = 302
        with pytest.raises((UpstreamError, UpstreamRejected)):
            login.identify(back["code"], ATTEMPT)

    def test_identify_with_an_unreachable_provider_raises_upstream_unavailable(
        self, login: SocialLogin, double: SocialDouble
    ) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        double.server_close()
        double.shutdown()
        with pytest.raises(UpstreamUnavailable):
            login.identify(back["code"], ATTEMPT)
