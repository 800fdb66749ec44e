"""Tests of OpenID Connect with a double that signs tokens."""

import time
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from app.drivers.errors import UpstreamError, UpstreamRejected
from app.drivers.http.client import HttpClient
from app.drivers.social_login.code_flow import OAuthClient
from app.drivers.social_login.oidc import OidcLogin
from tests.drivers.social_login.contract import ATTEMPT, SocialLoginContract
from tests.support.doubles.social import SocialDouble


class TestOidcLogin(SocialLoginContract):
    @pytest.fixture
    def login(self, double: SocialDouble) -> OidcLogin:
        return OidcLogin(OAuthClient("client-b", "secret-b"), issuer=f"{double.base}/b", http=HttpClient())

    @pytest.mark.parametrize(
        "claims",
        [
            {"nonce": "another"},
            {"nonce": None},
            {"aud": "another-client"},
            {"aud": None},
            {"aud": ["client-b", "x"], "azp": "x"},
            {"iss": "https://evil.example.org"},
            {"iss": None},
            {"exp": int(time.time()) - 3600},
            {"exp": None},
            {"iat": int(time.time()) + 3600},
            {"sub": None},
        ],
    )
    def test_invalid_claim_raises_upstream_rejected(
        self, login: OidcLogin, double: SocialDouble, claims: dict[str, Any]
    ) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org", **claims)
        with pytest.raises(UpstreamRejected):
            login.identify(back["code"], ATTEMPT)

    def test_invalid_signature_raises_upstream_rejected(self, login: OidcLogin, double: SocialDouble) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        double.signing = RSAKey.generate_key(2048)
        with pytest.raises(UpstreamRejected):
            login.identify(back["code"], ATTEMPT)

    def test_unsigned_token_raises_upstream_rejected(
        self, login: OidcLogin, double: SocialDouble, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        back = double.approve(login.authorization_url(ATTEMPT), "a@mail.example.org")
        signed = double.id_token
        monkeypatch.setattr(
            double, "id_token", lambda grant: "eyJhbGciOiJub25lIn0." + signed(grant).split(".")[1] + "."
        )
        with pytest.raises(UpstreamRejected):
            login.identify(back["code"], ATTEMPT)

    def test_changed_keys_of_the_provider_are_reloaded(self, login: OidcLogin, double: SocialDouble) -> None:
        url = login.authorization_url(ATTEMPT)
        double.new_key()
        assert login.identify(double.approve(url, "a@mail.example.org")["code"], ATTEMPT).email

    def test_discovery_is_read_once(self, login: OidcLogin, double: SocialDouble) -> None:
        for _ in range(3):
            login.authorization_url(ATTEMPT)
        assert double.calls == ["/b/.well-known/openid-configuration", "/b/jwks"]

    def test_configuration_of_another_issuer_raises_upstream_error(self, double: SocialDouble) -> None:
        login = OidcLogin(OAuthClient("client-b", "secret-b"), issuer=f"{double.base}/b/", http=HttpClient())
        assert login.authorization_url(ATTEMPT)
        other = OidcLogin(
            OAuthClient("client-b", "s"), issuer=double.base.replace("127.0.0.1", "localhost") + "/b", http=HttpClient()
        )
        with pytest.raises(UpstreamError):
            other.authorization_url(ATTEMPT)
