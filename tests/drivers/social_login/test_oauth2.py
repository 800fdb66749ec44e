"""GitHub's login, against its double."""

import pytest

from app.drivers.http import HttpClient
from app.drivers.social_login.code_flow import Client
from app.drivers.social_login.oauth2 import OAuth2Login
from tests.doubles.social import SocialDouble
from tests.drivers.social_login.contract import SocialLoginContract


class TestOAuth2Login(SocialLoginContract):
    @pytest.fixture
    def login(self, double: SocialDouble) -> OAuth2Login:
        url = f"{double.base}/a"
        return OAuth2Login(Client("client-a", "secret-a"), url=url, api_url=f"{url}/api", http=HttpClient())
