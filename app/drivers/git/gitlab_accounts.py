"""Accounts on GitLab by their tokens: who they are and what they reach; needs no secret of ours."""

from typing import Any

from app.drivers.errors import NeedsReconnect
from app.drivers.git import gitlab_values as values
from app.drivers.git.accounts import Account, RepositoryPage, TokenRejected
from app.drivers.git.answers import Refusal, parses
from app.drivers.git.gitlab import API, HEADERS
from app.drivers.git.link import next_link
from app.drivers.git.port import Repository
from app.drivers.git.rest import RestClient, Shared, fixed_token

PAGE = "50"
WRITES = "30"  # GitLab's access level “developer”, the first that may push


class GitLabAccounts:
    """GitLab at `url`, asked with a token given at each call. Safe to share."""

    def __init__(self, url: str, *, shared: Shared | None = None) -> None:
        self._url, self._shared = url.rstrip("/"), shared or Shared()

    def whoami(self, token: str) -> Account:
        """The user behind a token. Raises TokenRejected."""
        try:
            return _account(self._as(token).get("/user"))
        except (NeedsReconnect, Refusal) as fault:
            raise TokenRejected from fault

    def repositories(
        self, token: str, installation_id: str | None = None, *, search: str | None = None, cursor: str | None = None
    ) -> RepositoryPage:
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

    def _as(self, token: str) -> RestClient:
        return RestClient(self._url + API, fixed_token(token), headers=HEADERS, shared=self._shared)


@parses
def _account(found: dict[str, Any]) -> Account:
    return Account(str(found["id"]), str(found["username"]), found.get("name"))


@parses
def _repositories(found: list[dict[str, Any]]) -> list[Repository]:
    return [values.repository({"visibility": "private", **each}) for each in found]
