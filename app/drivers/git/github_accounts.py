"""Accounts on GitHub by their tokens: who they are and what they reach; needs no secret of ours."""

from typing import Any

from app.drivers.errors import NeedsReconnect
from app.drivers.git import github_values as values
from app.drivers.git.accounts import Account, Installation, RepositoryPage, TokenRejected
from app.drivers.git.answers import Refusal, parses
from app.drivers.git.github import HEADERS
from app.drivers.git.port import Repository
from app.drivers.git.rest import RestClient, Shared, fixed_token, segment

PAGE = 100
ENOUGH = 50  # found repositories after which no further page is searched
MAX_PAGES_SEARCHED = 10


class GitHubAccounts:
    """GitHub at `api_url`, asked with a token given at each call. Safe to share."""

    def __init__(self, api_url: str, *, shared: Shared | None = None) -> None:
        self._api_url, self._shared = api_url.rstrip("/"), shared or Shared()

    def whoami(self, token: str) -> Account:
        """The user behind a token. Raises TokenRejected."""
        try:
            found = self._as(token).get("/user")
        except (NeedsReconnect, Refusal) as fault:
            raise TokenRejected from fault
        return _account(found)

    def installations(self, token: str) -> list[Installation]:
        """The installations of the app that a user can see."""
        pages = self._as(token).pages("/user/installations", {"per_page": str(PAGE)}, items="installations")
        return [_installation(found) for page in pages for found in page]

    def sees(self, token: str, installation_id: str) -> bool:
        """Whether a user can see an installation."""
        return any(found.id == installation_id for found in self.installations(token))

    def repositories(
        self, token: str, installation_id: str | None = None, *, search: str | None = None, cursor: str | None = None
    ) -> RepositoryPage:
        """Some repositories that a user reaches, of one installation where the token is an app's; with `search` in their names.

        GitHub cannot search these, so page after page is looked through, ten at most in one call.
        """
        client, wanted = self._as(token), (search or "").lower()
        page = int(cursor) if cursor and cursor.isdecimal() else 1
        path = f"/user/installations/{segment(installation_id)}/repositories" if installation_id else "/user/repos"
        found = []
        for number in range(page, page + MAX_PAGES_SEARCHED):
            answer = client.get(path, {"per_page": str(PAGE), "page": str(number)})
            listed = _repositories(answer)
            found += [each for each in listed if wanted in each.full_name.lower()]
            if len(listed) < PAGE:
                return RepositoryPage(found, None)
            if len(found) >= ENOUGH:
                break
        return RepositoryPage(found, str(number + 1))

    def revoke_installation_token(self, token: str) -> None:
        """End an installation's token; one that is gone already is no error."""
        try:
            self._as(token).call("DELETE", "/installation/token", repeatable=True)
        except NeedsReconnect:
            return

    def _as(self, token: str) -> RestClient:
        return RestClient(self._api_url, fixed_token(token), headers=HEADERS, shared=self._shared)


@parses
def _account(found: dict[str, Any]) -> Account:
    return Account(str(found["id"]), str(found["login"]), found.get("name"))


@parses
def _installation(found: dict[str, Any]) -> Installation:
    return Installation(str(found["id"]), str(found["account"]["login"]))


@parses
def _repositories(found: Any) -> list[Repository]:
    listed = found["repositories"] if isinstance(found, dict) else found
    return [values.repository(each) for each in listed]
