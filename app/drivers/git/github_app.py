"""Galley's app on GitHub, with its secrets: codes, renewals and installation tokens; reads no account and no repository."""

import threading
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey

from app.core import clock
from app.drivers.errors import Broken, NeedsReconnect
from app.drivers.git import accounts
from app.drivers.git import github_values as values
from app.drivers.git.accounts import CodeRejected, InstallationToken, Tokens
from app.drivers.git.answers import Refusal, checked, parses, quotable
from app.drivers.git.github import HEADERS
from app.drivers.git.rest import RestClient, Shared, segment

JWT_LIFE = timedelta(minutes=9)  # GitHub takes ten minutes at most
CLOCK_DRIFT = timedelta(minutes=1)
RENEW_BEFORE = timedelta(minutes=5)


class GitHubApp:
    """The app with its secrets. Safe to share; keeps the installation tokens it got until near their end."""

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
        shared: Shared | None = None,
    ) -> None:
        self._url, self._api_url, self._app_id, self._slug = url.rstrip("/"), api_url.rstrip("/"), app_id, slug
        self._client_id, self._client_secret = client_id, client_secret
        self._key = RSAKey.import_key(private_key)
        self._shared = shared or Shared()
        self._kept: dict[tuple[str, str | None], InstallationToken] = {}
        self._turns: dict[tuple[str, str | None], threading.Lock] = {}
        self._lock = threading.Lock()

    def start_url(self, state: str) -> str:
        """Where a person installs the app; GitHub sends them back with `code`, `installation_id` and `state`."""
        return f"{self._url}/apps/{segment(self._slug)}/installations/new?{urlencode({'state': state})}"

    def exchange(self, code: str) -> Tokens:
        """Turn a code into the user's tokens; never repeated, as a code is good for once. Raises CodeRejected."""
        found = self._token_call({"code": code})
        if found.get("error"):
            raise CodeRejected(quotable(str(found.get("error_description") or found["error"])))
        return accounts.tokens(found)

    def refresh(self, refresh_token: str) -> Tokens:
        """Renew a user's tokens, which ends the old ones; never repeated. Raises NeedsReconnect."""
        found = self._token_call({"grant_type": "refresh_token", "refresh_token": refresh_token})
        if found.get("error") in ("bad_refresh_token", "unauthorized"):
            raise NeedsReconnect("GitHub no longer renews this connection; connect the account again")
        if found.get("error"):
            raise Broken(f"GitHub does not renew tokens for this app: {quotable(str(found['error']))}")
        return accounts.tokens(found)

    def installation_token(
        self, installation_id: str, *, repository: str | None = None, fresh: bool = False
    ) -> InstallationToken:
        """A token for an installation, or for nothing but one `owner/name` of it; a kept one unless `fresh`.

        However many ask at once, GitHub is asked once.

        Raises:
            NeedsReconnect: the app is no longer installed there, or not on that repository.
        """
        key = (installation_id, repository)
        before = self._kept.get(key)
        with self._turn(key):
            kept = self._kept.get(key)
            got_meanwhile = kept is not before
            if kept and (got_meanwhile or not fresh) and kept.expires_at - clock.now() > RENEW_BEFORE:
                return kept
            made = self._new_installation_token(installation_id, repository)
            self._kept[key] = made
            return made

    def revoke(self, token: str) -> None:
        """End a user's token; one that is gone already is no error."""
        path = f"{self._api_url}/applications/{segment(self._client_id)}/token"
        answer = self._shared.http.send(
            "DELETE", path, headers=HEADERS, json={"access_token": token}, basic=(self._client_id, self._client_secret)
        )
        if answer.status not in (404, 422):
            checked(answer)

    def _token_call(self, asked: dict[str, str]) -> dict[str, Any]:
        form = {"client_id": self._client_id, "client_secret": self._client_secret, **asked}
        url = f"{self._url}/login/oauth/access_token"
        found = checked(self._shared.http.send("POST", url, headers={"Accept": "application/json"}, form=form)).json()
        if not isinstance(found, dict):
            raise Broken("GitHub answered in a form that is not understood")
        return found

    def _new_installation_token(self, installation_id: str, repository: str | None) -> InstallationToken:
        body = {"repositories": [repository.partition("/")[2]]} if repository else {}
        client = RestClient(self._api_url, self._signed, headers=HEADERS, shared=self._shared)
        try:
            # Asking twice makes two tokens, of which one is never used: it may be repeated.
            path = f"/app/installations/{segment(installation_id)}/access_tokens"
            return _installation_token(client.call("POST", path, json=body, repeatable=True).json())
        except Refusal as fault:
            raise NeedsReconnect("The app is no longer installed for this repository; connect it again") from fault

    def _signed(self, rejected: str | None = None) -> str:
        """A token that proves to be the app."""
        now = clock.now()
        claims = {
            "iat": int((now - CLOCK_DRIFT).timestamp()),
            "exp": int((now + JWT_LIFE).timestamp()),
            "iss": self._app_id,
        }
        return jwt.encode({"alg": "RS256"}, claims, self._key)

    def _turn(self, key: tuple[str, str | None]) -> threading.Lock:
        with self._lock:
            return self._turns.setdefault(key, threading.Lock())


@parses
def _installation_token(found: dict[str, Any]) -> InstallationToken:
    return InstallationToken(str(found["token"]), values.moment(found["expires_at"]))
