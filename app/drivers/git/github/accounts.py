"""Accounts on GitHub and the repositories that their tokens can reach."""

from typing import Any

from app.drivers.errors import ReconnectRequired
from app.drivers.git.accounts import AppInstallation, GitAccount, RepositoryPage, TokenRejected
from app.drivers.git.github import values
from app.drivers.git.github.provider import HEADERS
from app.drivers.git.port import RepositoryFacts
from app.drivers.git.rest.client import RestClient, SharedState
from app.drivers.git.rest.responses import RequestRefused, parses
from app.drivers.git.rest.tokens import TokenSupplier, supplier_of

PAGE = 100
MAX_RESULTS = 50  # number of matching repositories after which the search stops
MAX_PAGES_SEARCHED = 10


class GitHubAccounts:
    """The accounts of GitHub at `api_url`. Each call takes a token. Safe to share."""

    def __init__(self, api_url: str, *, shared: SharedState | None = None) -> None:
        self._api_url, self._shared = api_url.rstrip("/"), shared or SharedState()

    def whoami(self, token: str | TokenSupplier) -> GitAccount:
        try:
            data = self._as(token).get("/user")
        except (ReconnectRequired, RequestRefused) as fault:
            raise TokenRejected from fault
        return _account(data)

    def installations(self, token: str | TokenSupplier) -> list[AppInstallation]:
        pages = self._as(token).pages("/user/installations", {"per_page": str(PAGE)}, items="installations")
        return [_installation(data) for page in pages for data in page]

    def can_access_installation(self, token: str | TokenSupplier, installation_id: str) -> bool:
        return any(data.id == installation_id for data in self.installations(token))

    def repositories(
        self,
        token: str | TokenSupplier,
        installation_id: str | None = None,
        *,
        search: str | None = None,
        cursor: str | None = None,
    ) -> RepositoryPage:
        """Return a page of the repositories that a user can reach, filtered by `search`.

        Where the token is an app's (`installation_id` is given), these are those of every installation that the user
        can see. GitHub cannot search them, so page after page is looked through, ten at most in one call.
        """
        client, search_text, (first, page) = self._as(token), (search or "").lower(), _position(cursor)
        repositories: list[RepositoryFacts] = []
        pages_read = 0
        for number, path in self._lists(token, installed=installation_id is not None):
            if number < first:
                continue
            page, is_last = (page if number == first else 1), False
            while not is_last:
                if pages_read == MAX_PAGES_SEARCHED or len(repositories) >= MAX_RESULTS:
                    return RepositoryPage(repositories, f"{number}.{page}")
                listed = _repositories(client.get(path, {"per_page": str(PAGE), "page": str(page)}))
                repositories += [repository for repository in listed if search_text in repository.full_name.lower()]
                pages_read, page, is_last = pages_read + 1, page + 1, len(listed) < PAGE
        return RepositoryPage(repositories, None)

    def revoke_installation_token(self, token: str) -> None:
        try:
            self._as(token).call("DELETE", "/installation/token", repeatable=True)
        except ReconnectRequired:
            return

    def _lists(self, token: str | TokenSupplier, *, installed: bool) -> list[tuple[int, str]]:
        """Return the paths of the repository lists, each with a stable number."""
        if not installed:
            return [(0, "/user/repos")]
        numbers = sorted(int(installation.id) for installation in self.installations(token))
        return [(number, f"/user/installations/{number}/repositories") for number in numbers]

    def _as(self, token: str | TokenSupplier) -> RestClient:
        return RestClient(self._api_url, supplier_of(token), headers=HEADERS, shared=self._shared)


def _position(cursor: str | None) -> tuple[int, int]:
    """Return the number of the list and the page from a cursor."""
    list_number, _, page = (cursor or "").partition(".")
    return (int(list_number), int(page)) if list_number.isdecimal() and page.isdecimal() else (0, 1)


@parses
def _account(data: dict[str, Any]) -> GitAccount:
    return GitAccount(str(data["id"]), str(data["login"]), data.get("name"))


@parses
def _installation(data: dict[str, Any]) -> AppInstallation:
    return AppInstallation(str(data["id"]), str(data["account"]["login"]))


@parses
def _repositories(data: Any) -> list[RepositoryFacts]:
    listed = data["repositories"] if isinstance(data, dict) else data
    return [values.repository(repository) for repository in listed]
