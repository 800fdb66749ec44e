"""The app of Galley on GitHub: codes, refreshed tokens and installation tokens."""

import threading
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey

from app.core import clock
from app.drivers.errors import ReconnectRequired, UpstreamError
from app.drivers.git import accounts
from app.drivers.git.accounts import CodeRejected, InstallationToken, TokenSet
from app.drivers.git.github import values
from app.drivers.git.github.provider import HEADERS
from app.drivers.git.rest.client import RestClient, SharedState, segment
from app.drivers.git.rest.responses import RequestRefused, parses, quotable, require_success

JWT_LIFE = timedelta(minutes=9)  # GitHub accepts at most ten minutes
CLOCK_DRIFT = timedelta(minutes=1)
RENEW_BEFORE = timedelta(minutes=5)


class GitHubApp:
    """The app with its secrets. Caches installation tokens until shortly before they expire. Safe to share."""

    def __init__(
        self,
        *,
        url: str,
        api_url: str,
        app_id: str,
        slug: str,
        client_id: str,
        client_secret: str,
        private_key: str,
        shared: SharedState | None = None,
    ) -> None:
        self._url, self._api_url, self._app_id, self._slug = url.rstrip("/"), api_url.rstrip("/"), app_id, slug
        self._client_id, self._client_secret = client_id, client_secret
        self._key = RSAKey.import_key(private_key)
        self._shared = shared or SharedState()
        self._tokens: dict[tuple[str, str | None], InstallationToken] = {}
        self._locks: dict[tuple[str, str | None], threading.Lock] = {}
        self._lock = threading.Lock()

    def start_url(self, state: str) -> str:
        """Return the URL at which a person installs the app.

        GitHub redirects back with `code`, `installation_id` and `state`.
        """
        return f"{self._url}/apps/{segment(self._slug)}/installations/new?{urlencode({'state': state})}"

    def exchange(self, code: str) -> TokenSet:
        """Exchange a code for the tokens of the user.

        Never repeated, because a code is valid once. Raises CodeRejected.
        """
        data = self._token_call({"code": code})
        if data.get("error"):
            raise CodeRejected(quotable(str(data.get("error_description") or data["error"])))
        return accounts.tokens(data)

    def refresh(self, refresh_token: str) -> TokenSet:
        """Refresh the tokens of a user. The old tokens become invalid. Never repeated. Raises ReconnectRequired."""
        data = self._token_call({"grant_type": "refresh_token", "refresh_token": refresh_token})
        if data.get("error") in ("bad_refresh_token", "unauthorized"):
            raise ReconnectRequired("GitHub no longer refreshes this connection. Connect the account again")
        if data.get("error"):
            raise UpstreamError(f"GitHub does not refresh tokens for this app: {quotable(str(data['error']))}")
        return accounts.tokens(data)

    def installation_token(
        self,
        installation_id: str,
        *,
        repository: str | None = None,
        repository_id: str | None = None,
        fresh: bool = False,
    ) -> InstallationToken:
        """Return a token for an installation, or for one repository of it. Use the cached token unless `fresh`.

        The repository is named by its id where that is known, because `owner/name` may change.

        Parallel callers share one call.

        Raises:
            ReconnectRequired: the app is no longer installed for this account or repository.
        """
        body = _selection(repository, repository_id)
        key = (installation_id, repository_id or repository)
        previous = self._tokens.get(key)
        with self._lock_of(key):
            cached = self._tokens.get(key)
            was_refreshed = cached is not previous
            if cached and (was_refreshed or not fresh) and cached.expires_at - clock.now() > RENEW_BEFORE:
                return cached
            token = self._new_installation_token(installation_id, body)
            self._tokens[key] = token
            return token

    def revoke(self, token: str) -> None:
        """Revoke the token of a user. A token that no longer exists is not an error."""
        path = f"{self._api_url}/applications/{segment(self._client_id)}/token"
        response = self._shared.http.send(
            "DELETE", path, headers=HEADERS, json={"access_token": token}, basic=(self._client_id, self._client_secret)
        )
        if response.status not in (404, 422):
            require_success(response)

    def _token_call(self, parameters: dict[str, str]) -> dict[str, object]:
        form = {"client_id": self._client_id, "client_secret": self._client_secret, **parameters}
        url = f"{self._url}/login/oauth/access_token"
        data = require_success(
            self._shared.http.send("POST", url, headers={"Accept": "application/json"}, form=form)
        ).json()
        if not isinstance(data, dict):
            raise UpstreamError("GitHub returned an unexpected response")
        return data

    def _new_installation_token(
        self, installation_id: str, body: dict[str, list[str] | list[int]]
    ) -> InstallationToken:
        client = RestClient(self._api_url, self._signed, headers=HEADERS, shared=self._shared)
        try:
            # This call may be repeated: a second token is unused and expires.
            path = f"/app/installations/{segment(installation_id)}/access_tokens"
            return _installation_token(client.call("POST", path, json=body, repeatable=True).json())
        except ReconnectRequired as fault:
            # A 401 concerns the key of the app, not the installation, so no project is marked.
            raise UpstreamError("GitHub does not accept the key of the app") from fault
        except RequestRefused as fault:
            raise ReconnectRequired(
                "The app is no longer installed for this repository. Connect the repository again"
            ) from fault

    def _signed(self, rejected: str | None = None) -> str:
        """Return a signed token that authenticates the app."""
        now = clock.now()
        claims = {
            "iat": int((now - CLOCK_DRIFT).timestamp()),
            "exp": int((now + JWT_LIFE).timestamp()),
            "iss": self._app_id,
        }
        return jwt.encode({"alg": "RS256"}, claims, self._key)

    def _lock_of(self, key: tuple[str, str | None]) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(key, threading.Lock())


def _selection(repository: str | None, repository_id: str | None) -> dict[str, list[str] | list[int]]:
    """Return the body that selects a repository for an installation token."""
    if repository_id is not None and repository_id.isdecimal():
        return {"repository_ids": [int(repository_id)]}
    return {"repositories": [repository.partition("/")[2]]} if repository else {}


@parses
def _installation_token(data: dict[str, Any]) -> InstallationToken:
    return InstallationToken(str(data["token"]), values.moment(data["expires_at"]))
