"""Accounts on GitLab and the projects that their tokens can reach."""

from typing import Any

from app.drivers.errors import ReconnectRequired
from app.drivers.git.accounts import GitAccount, RepositoryPage, TokenRejected
from app.drivers.git.gitlab import values
from app.drivers.git.gitlab.provider import API, HEADERS
from app.drivers.git.port import Repository
from app.drivers.git.rest.client import RestClient, SharedState
from app.drivers.git.rest.link import next_link
from app.drivers.git.rest.responses import RequestRefused, parses
from app.drivers.git.rest.tokens import TokenSupplier, supplier_of

PAGE = "50"
WRITES = "30"  # GitLab's access level "developer", the lowest that may push


class GitLabAccounts:
    """The accounts of GitLab at `url`. Each call takes a token. Safe to share."""

    def __init__(self, url: str, *, shared: SharedState | None = None) -> None:
        self._url, self._shared = url.rstrip("/"), shared or SharedState()

    def whoami(self, token: str | TokenSupplier) -> GitAccount:
        """Return the user of a token. Raises TokenRejected."""
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
def _repositories(data: list[dict[str, Any]]) -> list[Repository]:
    return [values.repository({"visibility": "private", **each}) for each in data]
