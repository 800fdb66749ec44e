"""The OAuth application of Galley on GitLab: codes and refreshed tokens."""

from urllib.parse import urlencode

from app.drivers.errors import ReconnectRequired, UpstreamError
from app.drivers.git import accounts
from app.drivers.git.accounts import CodeRejected, TokenSet
from app.drivers.git.rest.client import SharedState
from app.drivers.git.rest.responses import RequestRefused, require_success

SCOPES = "api"


class GitLabOAuth:
    """The application with its secret. Safe to share."""

    def __init__(self, *, url: str, client_id: str, client_secret: str, shared: SharedState | None = None) -> None:
        self._url, self._client_id, self._client_secret = url.rstrip("/"), client_id, client_secret
        self._shared = shared or SharedState()

    def authorize_url(self, *, redirect_uri: str, state: str, code_challenge: str) -> str:
        """Return the URL at which a person grants access. GitLab redirects back with `code` and `state` (PKCE S256)."""
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

    def exchange(self, code: str, *, redirect_uri: str, code_verifier: str | None = None) -> TokenSet:
        """Exchange a code for tokens. Never repeated, because a code is valid once. Raises CodeRejected."""
        parameters = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        try:
            return self._tokens(parameters | ({"code_verifier": code_verifier} if code_verifier else {}))
        except RequestRefused as fault:
            raise CodeRejected(fault.message_of_host) from fault

    def refresh(self, refresh_token: str, *, redirect_uri: str | None = None) -> TokenSet:
        """Refresh tokens. The old tokens become invalid. Never repeated. Raises ReconnectRequired."""
        parameters = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        try:
            return self._tokens(parameters | ({"redirect_uri": redirect_uri} if redirect_uri else {}))
        except RequestRefused as fault:
            if fault.status == 401:
                raise UpstreamError("GitLab does not know this installation's application") from fault
            raise ReconnectRequired("GitLab no longer renews this connection; connect the account again") from fault

    def revoke(self, token: str) -> None:
        """Revoke an access token or a refresh token. A token that no longer exists is not an error."""
        require_success(
            self._shared.http.send("POST", f"{self._url}/oauth/revoke", form={"token": token, **self._secrets})
        )

    @property
    def _secrets(self) -> dict[str, str]:
        return {"client_id": self._client_id, "client_secret": self._client_secret}

    def _tokens(self, parameters: dict[str, str]) -> TokenSet:
        answer = self._shared.http.send("POST", f"{self._url}/oauth/token", form=parameters | self._secrets)
        if answer.status == 401:
            raise RequestRefused(401, "the application is unknown")
        return accounts.tokens(require_success(answer).json())
