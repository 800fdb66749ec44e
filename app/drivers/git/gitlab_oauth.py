"""Galley's application on GitLab: connecting accounts and getting tokens; reads and writes no repository."""

from typing import Any
from urllib.parse import urlencode

from app.drivers.errors import Broken, NeedsReconnect
from app.drivers.git import accounts
from app.drivers.git import gitlab_values as values
from app.drivers.git.accounts import Account, CodeRejected, RepositoryPage, TokenRejected, Tokens
from app.drivers.git.answers import Refusal, checked, parses
from app.drivers.git.gitlab import API, HEADERS
from app.drivers.git.link import next_link
from app.drivers.git.rest import RestClient, Shared, fixed_token

SCOPES = "api"
PAGE = "50"
WRITES = "30"  # GitLab's access level “developer”, the first that may push


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

    def whoami(self, token: str) -> Account:
        """The user behind a token. Raises TokenRejected."""
        try:
            return _account(self._as(token).get("/user"))
        except (NeedsReconnect, Refusal) as fault:
            raise TokenRejected from fault

    def repositories(self, token: str, *, search: str | None = None, cursor: str | None = None) -> RepositoryPage:
        """Some projects that a token's user may push to, whose names hold `search`, by id."""
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
        found = _repositories(answer.json())
        more = bool(next_link(answer.headers.get("Link", ""))) and bool(found)
        return RepositoryPage(found, found[-1].id if more else None)

    @property
    def _secrets(self) -> dict[str, str]:
        return {"client_id": self._client_id, "client_secret": self._client_secret}

    def _tokens(self, asked: dict[str, str]) -> Tokens:
        answer = self._shared.http.send("POST", f"{self._url}/oauth/token", form=asked | self._secrets)
        if answer.status == 401:
            raise Refusal(401, "the application is unknown")
        return accounts.tokens(checked(answer).json())

    def _as(self, token: str) -> RestClient:
        return RestClient(self._url + API, fixed_token(token), headers=HEADERS, shared=self._shared)


@parses
def _account(found: dict[str, Any]) -> Account:
    return Account(str(found["id"]), str(found["username"]), found.get("name"))


@parses
def _repositories(found: list[dict[str, Any]]) -> list[Any]:
    return [values.repository({"visibility": "private", **each}) for each in found]
