"""Accounts on GitLab: the OAuth application, and the projects that their tokens can reach."""

from typing import Any
from urllib.parse import urlencode

from app.drivers.errors import ReconnectRequired, UpstreamError
from app.drivers.git import accounts
from app.drivers.git.accounts import CodeRejected, GitAccount, RepositoryPage, TokenRejected, TokenSet
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.provider import API, HEADERS
from app.drivers.git.port import RepositoryFacts
from app.drivers.git.rest.client import RestClient, SharedState, next_link
from app.drivers.git.rest.responses import RequestRefused, parses, require_success
from app.drivers.git.rest.tokens import TokenSupplier, supplier_of

SCOPES = "api"
PAGE = "50"
WRITES = "30"  # GitLab's access level "developer", the lowest that may push


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


class GitLabAccounts:
    """The accounts of GitLab at `url`. Each call takes a token. Safe to share."""

    def __init__(self, url: str, *, shared: SharedState | None = None) -> None:
        self._url, self._shared = url.rstrip("/"), shared or SharedState()

    def whoami(self, token: str | TokenSupplier) -> GitAccount:
        try:
            return _account(self._as(token).get("/user"))
        except (ReconnectRequired, RequestRefused) as fault:
            raise TokenRejected from fault

    def repositories(
        self,
        token: str | TokenSupplier,
        installation_id: str | None = None,
        *,
        search: str | None = None,
        cursor: str | None = None,
    ) -> RepositoryPage:
        """Return a page of the projects to which the user may push, filtered by `search` and sorted by id."""
        query = {
            "membership": "true",
            "min_access_level": WRITES,
            "simple": "true",
            "order_by": "id",
            "sort": "asc",
            "pagination": "keyset",
            "per_page": PAGE,
        }
        query |= {"search": search, "search_namespaces": "true"} if search else {}
        query |= {"id_after": cursor} if cursor and cursor.isdecimal() else {}
        answer = self._as(token).call("GET", "/projects", params=query)
        data = _repositories(answer.json())
        more = bool(next_link(answer.headers.get("Link", ""))) and bool(data)
        return RepositoryPage(data, data[-1].id if more else None)

    def _as(self, token: str | TokenSupplier) -> RestClient:
        return RestClient(self._url + API, supplier_of(token), headers=HEADERS, shared=self._shared)


@parses
def _account(data: dict[str, Any]) -> GitAccount:
    return GitAccount(str(data["id"]), str(data["username"]), data.get("name"))


@parses
def _repositories(data: list[dict[str, object]]) -> list[RepositoryFacts]:
    return [values.repository({"visibility": "private", **project}) for project in data]
