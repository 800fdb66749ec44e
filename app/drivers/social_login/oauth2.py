"""Login at GitHub: OAuth 2 with an API that returns the identity.

Source: docs.github.com, Authorizing OAuth apps; REST API, users and users/emails.
"""

from typing import Any

from app.drivers.errors import UpstreamError
from app.drivers.http.client import HttpClient
from app.drivers.social_login import code_flow
from app.drivers.social_login.port import AuthorizationRequest, Identity

SCOPE = "read:user user:email"


class OAuth2Login:
    """A login at GitHub or a compatible server."""

    def __init__(self, client: code_flow.OAuthClient, *, url: str, api_url: str, http: HttpClient) -> None:
        """Store the URLs of the web pages and of the API."""
        self._client, self._url, self._api_url, self._http = client, url.rstrip("/"), api_url.rstrip("/"), http

    def authorization_url(self, attempt: AuthorizationRequest) -> str:
        return code_flow.grant_url(f"{self._url}/login/oauth/authorize", self._client, SCOPE, attempt)

    def identify(self, code: str, attempt: AuthorizationRequest) -> Identity:
        """Implement the port. Only the primary e-mail address is used."""
        endpoint = f"{self._url}/login/oauth/access_token"
        token = code_flow.fetch_token(self._http, endpoint, self._client, code, attempt)["access_token"]
        profile = code_flow.fetch_json(self._http, f"{self._api_url}/user", token)
        if not isinstance(profile, dict) or not isinstance(profile.get("id"), int | str):
            raise UpstreamError("The login provider returned no identity")
        email, verified = self._email(token)
        name = code_flow.text_or_none(profile.get("name")) or code_flow.text_or_none(profile.get("login"))
        return Identity(str(profile["id"]), email, verified, name)

    def _email(self, token: str) -> tuple[str | None, bool]:
        listed: Any = code_flow.fetch_json(self._http, f"{self._api_url}/user/emails", token)
        addresses = [address for address in listed if isinstance(address, dict)] if isinstance(listed, list) else []
        for item in addresses:
            if item.get("primary") is True:
                return code_flow.text_or_none(item.get("email")), item.get("verified") is True
        return None, False
