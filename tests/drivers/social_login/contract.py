"""Contract of login providers. The test class of an implementation inherits it and defines the fixture `login`."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from app.drivers.errors import UpstreamError, UpstreamRejected, UpstreamUnavailable
from app.drivers.social_login.port import AuthorizationRequest, SocialLogin
from tests.support.doubles.social import SocialDouble

ATTEMPT = AuthorizationRequest("state-1", "v" * 43, "nonce-1", "http://127.0.0.1:8000/back")


class SocialLoginContract:
    def test_the_address_carries_state_challenge_and_way_back_but_no_secret(self, login: SocialLogin) -> None:
        url = login.authorization_url(ATTEMPT)
        query = parse_qs(urlsplit(url).query)
        assert query["state"] == ["state-1"]
        assert query["code_challenge_method"] == ["S256"]
        assert query["redirect_uri"] == ["http://127.0.0.1:8000/back"]
        assert ATTEMPT.code_verifier not in url
        assert "secret" not in url

    def test_a_code_tells_who_it_is(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org", subject=7)
        identity = login.identify(back["code"], ATTEMPT)
        assert (identity.subject, identity.email, identity.email_verified) == ("7", "a@mail.example.org", True)
        assert identity.name == "Social Person"

    def test_an_unverified_email_is_told_as_such(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org", verified=False)
        assert login.identify(back["code"], ATTEMPT).email_verified is False

    def test_no_email_is_none(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), None)
        assert login.identify(back["code"], ATTEMPT).email is None

    def test_a_made_up_code_is_rejected(self, login: SocialLogin) -> None:
        with pytest.raises(UpstreamRejected):
            login.identify("made-up", ATTEMPT)

    def test_a_code_without_its_verifier_is_rejected(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        with pytest.raises(UpstreamRejected):
            login.identify(back["code"], replace(ATTEMPT, code_verifier="w" * 43))

    def test_a_provider_out_of_order_is_broken(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        double.fault = 502
        with pytest.raises(UpstreamError):
            login.identify(back["code"], ATTEMPT)

    def test_a_redirect_is_not_followed(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        double.fault = 302
        with pytest.raises((UpstreamError, UpstreamRejected)):
            login.identify(back["code"], ATTEMPT)

    def test_a_provider_that_is_gone_is_absent(self, login: SocialLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        double.server_close()
        double.shutdown()
        with pytest.raises(UpstreamUnavailable):
            login.identify(back["code"], ATTEMPT)
