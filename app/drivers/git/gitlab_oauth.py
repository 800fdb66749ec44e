"""Galley's application on GitLab, with its secret: codes and renewals; reads no account and no repository."""

from urllib.parse import urlencode

from app.drivers.errors import Broken, NeedsReconnect
from app.drivers.git import accounts
from app.drivers.git.accounts import CodeRejected, Tokens
from app.drivers.git.answers import Refusal, checked
from app.drivers.git.rest import Shared

SCOPES = "api"


class GitLabOAuth:
    """The application with its secret. Safe to share."""

    def __init__(self, *, url: str, client_id: str, client_secret: str, shared: Shared | None = None) -> None:
        self._url, self._client_id, self._client_secret = url.rstrip("/"), client_id, client_secret
        self._shared = shared or Shared()

    def authorize_url(self, *, redirect_uri: str, state: str, code_challenge: str) -> str:
        """Where a person allows access; GitLab sends them back with `code` and `state` (PKCE S256)."""
        query = {
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "response_type": "code",
            "scope": SCOPES,
            "state": state,
            "code_challenge": code_challenge,
            "code_challenge_method": "S256",
        }
        return f"{self._url}/oauth/authorize?{urlencode(query)}"

    def exchange(self, code: str, *, redirect_uri: str, code_verifier: str | None = None) -> Tokens:
        """Turn a code into tokens; never repeated, as a code is good for once. Raises CodeRejected."""
        asked = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        try:
            return self._tokens(asked | ({"code_verifier": code_verifier} if code_verifier else {}))
        except Refusal as fault:
            raise CodeRejected(fault.said) from fault

    def refresh(self, refresh_token: str, *, redirect_uri: str | None = None) -> Tokens:
        """Renew tokens, which ends the old ones; never repeated. Raises NeedsReconnect."""
        asked = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        try:
            return self._tokens(asked | ({"redirect_uri": redirect_uri} if redirect_uri else {}))
        except Refusal as fault:
            if fault.status == 401:
                raise Broken("GitLab does not know this installation's application") from fault
            raise NeedsReconnect("GitLab no longer renews this connection; connect the account again") from fault

    def revoke(self, token: str) -> None:
        """End a token of either kind; one that is gone already is no error."""
        checked(self._shared.http.send("POST", f"{self._url}/oauth/revoke", form={"token": token, **self._secrets}))

    @property
    def _secrets(self) -> dict[str, str]:
        return {"client_id": self._client_id, "client_secret": self._client_secret}

    def _tokens(self, asked: dict[str, str]) -> Tokens:
        answer = self._shared.http.send("POST", f"{self._url}/oauth/token", form=asked | self._secrets)
        if answer.status == 401:
            raise Refusal(401, "the application is unknown")
        return accounts.tokens(checked(answer).json())
