"""Accounts on GitHub by their tokens: who they are and what they reach; needs no secret of ours."""

from typing import Any

from app.drivers.errors import NeedsReconnect
from app.drivers.git import github_values as values
from app.drivers.git.accounts import Account, Installation, RepositoryPage, TokenRejected
from app.drivers.git.answers import Refusal, parses
from app.drivers.git.github import HEADERS
from app.drivers.git.port import Repository
from app.drivers.git.rest import RestClient, Shared, fixed_token

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
        """Some repositories that a user reaches, with `search` in their names.

        Where the token is an app's (`installation_id` is given), these are those of every installation that the user
        can see. GitHub cannot search them, so page after page is looked through, ten at most in one call.
        """
        client, wanted, (first, page) = self._as(token), (search or "").lower(), _position(cursor)
        found: list[Repository] = []
        asked = 0
        for number, path in self._lists(token, installed=installation_id is not None):
            if number < first:
                continue
            page, is_last = (page if number == first else 1), False
            while not is_last:
                if asked == MAX_PAGES_SEARCHED or len(found) >= ENOUGH:
                    return RepositoryPage(found, f"{number}.{page}")
                listed = _repositories(client.get(path, {"per_page": str(PAGE), "page": str(page)}))
                found += [each for each in listed if wanted in each.full_name.lower()]
                asked, page, is_last = asked + 1, page + 1, len(listed) < PAGE
        return RepositoryPage(found, None)

    def revoke_installation_token(self, token: str) -> None:
        """End an installation's token; one that is gone already is no error."""
        try:
            self._as(token).call("DELETE", "/installation/token", repeatable=True)
        except NeedsReconnect:
            return

    def _lists(self, token: str, *, installed: bool) -> list[tuple[int, str]]:
        """Where repositories are listed, each place with a number that stays its own."""
        if not installed:
            return [(0, "/user/repos")]
        numbers = sorted(int(each.id) for each in self.installations(token))
        return [(number, f"/user/installations/{number}/repositories") for number in numbers]

    def _as(self, token: str) -> RestClient:
        return RestClient(self._api_url, fixed_token(token), headers=HEADERS, shared=self._shared)


def _position(cursor: str | None) -> tuple[int, int]:
    """The place and the page to go on with."""
    place, _, page = (cursor or "").partition(".")
    return (int(place), int(page)) if place.isdecimal() and page.isdecimal() else (0, 1)


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
