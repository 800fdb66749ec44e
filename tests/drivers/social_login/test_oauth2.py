"""Tests of the GitHub login with a double."""

import pytest

from app.drivers.http.client import HttpClient
from app.drivers.social_login.code_flow import OAuthClient
from app.drivers.social_login.oauth2 import OAuth2Login
from tests.drivers.social_login.contract import SocialLoginContract
from tests.support.doubles.social import SocialDouble


class TestOAuth2Login(SocialLoginContract):
    @pytest.fixture
    def login(self, double: SocialDouble) -> OAuth2Login:
        url = f"{double.base}/a"
        return OAuth2Login(OAuthClient("client-a", "secret-a"), url=url, api_url=f"{url}/api", http=HttpClient())
