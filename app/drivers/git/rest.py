"""Calls to a Git host's REST API with one credential: renewal, retries, rate, conditional reads; knows no repository."""

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qs, quote, urlsplit

from app.core.metrics import GIT_BUDGET
from app.core.retry import RetryOptions, retry
from app.drivers.errors import Absent, Broken, Late, NeedsReconnect, Throttled
from app.drivers.git.answers import AskedToWait, checked, parses
from app.drivers.git.etags import EtagCache
from app.drivers.git.link import next_link
from app.drivers.git.rate import RateBudgets, remaining
from app.drivers.http import LIMITS, Answer, HttpClient, TooLong, Unreachable

MAX_PAGES = 10_000
TREE_BYTES = LIMITS.tree_bytes

Query = Mapping[str, str | list[str]]


class TokenSupplier(Protocol):
    """Where a provider has its token from; called from any thread, so it opens what it needs itself."""

    def __call__(self, rejected: str | None = None) -> str:
        """The current token; `rejected` is one the host has just refused: give a newer one, or raise NeedsReconnect."""


@runtime_checkable
class HearsRefusals(Protocol):
    """A supplier that wants to know when even a newer token was refused, so that nobody tries it again."""

    def refused(self, token: str) -> None:
        """The host has refused this token, which was given in another one's place."""


def fixed_token(token: str) -> TokenSupplier:
    """A supplier of one token that cannot be renewed."""

    def supply(rejected: str | None = None) -> str:
        if rejected is not None:
            raise NeedsReconnect("The Git host no longer takes this account's credential; connect it again")
        return token

    return supply


def segment(text: str) -> str:
    """A text as one segment of a URL's path."""
    return quote(text, safe="")


@dataclass(frozen=True)
class Shared:
    """What all providers of a process share: connections, rate budgets (with all nodes where they have a board), kept answers."""

    http: HttpClient = field(default_factory=HttpClient)
    budgets: RateBudgets = field(default_factory=RateBudgets)
    etags: EtagCache = field(default_factory=EtagCache)


class RestClient:
    """One host's API below `base_url`, called with one supplier's tokens; `patience_s` bounds a call with its retries.

    Who has more patience than a request works in the background, and leaves the rest of a budget to requests.
    """

    def __init__(
        self,
        base_url: str,
        token: TokenSupplier,
        *,
        headers: Mapping[str, str],
        shared: Shared,
        patience_s: float = LIMITS.deadline_s,
    ) -> None:
        self._base_url, self._supplier, self._headers = base_url.rstrip("/"), token, dict(headers)
        self._shared, self._patience_s = shared, patience_s
        self._background = patience_s > LIMITS.deadline_s
        self._lock = threading.Lock()
        self._token: str | None = None

    def get(self, path: str, params: Query | None = None, *, kept: bool = False, max_bytes: int | None = None) -> Any:
        """Read JSON; `kept` asks conditionally where an answer is at hand."""
        return self.call("GET", path, params=params, kept=kept, max_bytes=max_bytes).json()

    def pages(self, path: str, params: Query, *, items: str | None = None) -> Iterator[list[Any]]:
        """Every page of a list, by the answers' `Link: rel="next"`; `items` is the key the list stands under.

        Raises Broken when the pages do not end.
        """
        query: Query | None = params
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            answer = self.call("GET", path, params=query)
            yield _list_in(answer.json(), items)
            # Only its query is taken: the host in it must not choose where the token is sent.
            following = urlsplit(next_link(answer.headers.get("Link", ""))).query
            if not following:
                return
            if following in seen:
                break
            seen.add(following)
            query = parse_qs(following, keep_blank_values=True)
        raise Broken("The Git host's list does not end")

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Query | None = None,
        json: object = None,
        accept: str | None = None,
        repeatable: bool | None = None,
        kept: bool = False,
        max_bytes: int | None = None,
    ) -> Answer:
        """Make one call, again where that is safe, and give its answer of status 2xx.

        `repeatable` says that doing it twice is doing it once (the default for GET and HEAD): others are only repeated
        when they cannot have taken effect.

        Raises:
            Refusal, NeedsReconnect, Throttled, Absent, Broken, Late.
        """
        request = _Request(method, f"{self._base_url}{path}", params, json, accept, kept, max_bytes)
        again = method in ("GET", "HEAD") if repeatable is None else repeatable
        until = time.monotonic() + self._patience_s
        options = RetryOptions(
            passing=lambda failure: _passes(failure, again), asked_wait_s=_asked_wait_s, deadline_s=self._patience_s
        )
        return retry(lambda: self._authorized(request, until), options)

    def _authorized(self, request: "_Request", until: float) -> Answer:
        token = self._current(rejected=None)
        answer = self._once(request, token, until)
        if answer.status == 401:
            token = self._current(rejected=token)
            answer = self._once(request, token, until)
        if answer.status == 401:
            if isinstance(self._supplier, HearsRefusals):
                self._supplier.refused(token)
            raise NeedsReconnect("The Git host no longer takes this account's credential; connect it again")
        return checked(answer)

    def _current(self, *, rejected: str | None) -> str:
        """The token; however many calls saw one rejected, the supplier is asked once."""
        with self._lock:
            if self._token is None or self._token == rejected:
                self._token = self._supplier(rejected)
            return self._token

    def _once(self, request: "_Request", token: str, until: float) -> Answer:
        fingerprint = hashlib.sha256(token.encode()).hexdigest()
        key = f"{fingerprint} {request.accept} {request.url} {sorted((request.params or {}).items())}"
        known = self._shared.etags.find(key) if request.kept else None
        headers = {**self._headers, "Authorization": f"Bearer {token}"}
        if request.accept:
            headers["Accept"] = request.accept
        if known:
            headers["If-None-Match"] = known[0]
        self._shared.budgets.check(fingerprint, background=self._background)
        answer = self._shared.http.send(
            request.method,
            request.url,
            headers=headers,
            params=request.params,
            json=request.json,
            max_bytes=request.max_bytes,
            deadline_s=max(1.0, until - time.monotonic()),
        )
        self._shared.budgets.observe(fingerprint, answer)
        if (left := remaining(answer)) is not None:
            GIT_BUDGET.labels(urlsplit(request.url).hostname or "-").set(left)
        if known and answer.status == 304:
            return known[1]
        if request.kept:
            self._shared.etags.keep(key, answer)
        return answer


@dataclass(frozen=True)
class _Request:
    method: str
    url: str
    params: Query | None
    json: object
    accept: str | None
    kept: bool
    max_bytes: int | None


@parses
def _list_in(page: Any, items: str | None) -> list[Any]:
    found = page[items] if items else page
    if not isinstance(found, list):
        raise TypeError
    return found


def _passes(failure: Exception, repeatable: bool) -> bool:
    if isinstance(failure, (Unreachable, Throttled)):
        return True
    return repeatable and isinstance(failure, (Absent, Broken, Late)) and not isinstance(failure, TooLong)


def _asked_wait_s(failure: Exception) -> float | None:
    return failure.retry_after_s if isinstance(failure, (Throttled, AskedToWait)) else None
