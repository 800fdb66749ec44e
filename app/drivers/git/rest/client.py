"""The client of the REST API of a Git host: token renewal, retries, rate limits, conditional requests, long listings.

An unchanged response to a conditional request does not count in GitHub's rate limit.
"""

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import parse_qs, quote, urljoin, urlsplit

from app.core.retry import RetryOptions, retry
from app.drivers.errors import ReconnectRequired, UpstreamError, UpstreamThrottled, UpstreamTimeout, UpstreamUnavailable
from app.drivers.git.rest.rate_budget import RateBudgets, remaining
from app.drivers.git.rest.responses import RetryAfter, parses, require_success
from app.drivers.git.rest.tokens import (
    REJECTED,
    UNAUTHORIZED,
    ReplicationRetry,
    TokenMonitor,
    TokenSupplier,
)
from app.drivers.http.client import LIMITS, ConnectFailed, HttpClient, HttpResponse, ResponseTooLarge
from app.observability.metrics import GIT_BUDGET

REDIRECTS = frozenset({301, 302, 307, 308})

Query = Mapping[str, str | list[str]]
_LINK = re.compile(r"<([^<>]*+)>([^<]*+)")
T = TypeVar("T")
MAX_ENTRIES = 512
MAX_BYTES = 64 * 1024
MAX_PAGES = 10_000
BACKGROUND_LISTING_FACTOR = 10
TREE_BYTES = LIMITS.tree_bytes


class ById(NamedTuple):
    """The path of a repository by its name and by its id, for hosts that redirect calls on former names."""

    named: str
    numbered: str


@dataclass(frozen=True)
class RestRequest:
    """A request. `moved_url` is the URL with the id of the repository."""

    method: str
    url: str
    params: Query | None
    json: object
    accept: str | None
    conditional: bool
    max_bytes: int | None
    moved_url: str | None

    def is_moved(self, response: HttpResponse) -> bool:
        """Return whether the host redirects the call to the same repository under its id.

        Any other target could send the credential to another repository.
        """
        if response.status not in REDIRECTS or self.moved_url is None:
            return False
        target = urlsplit(urljoin(self.url, response.headers.get("Location", "")))
        expected = urlsplit(self.moved_url)
        return target[:3] == expected[:3]


def segment(text: str) -> str:
    """Encode a text as one segment of a URL path."""
    return quote(text, safe="")


def next_link(header: str) -> str:
    """Return the URL of the next page, or an empty text."""
    match = (url for url, about in _LINK.findall(header) if re.search(r';\s*rel="?next"?', about))
    return next(match, "")


class ListingDeadline:
    """A limit for the time that the calls of one listing take together.

    The time that the reader takes between two results does not count.
    """

    def __init__(self, limit_s: float) -> None:
        self._remaining_s = limit_s

    @property
    def remaining_s(self) -> float:
        """Return the remaining time.

        Raises:
            UpstreamTimeout: no time remains.
        """
        if self._remaining_s <= 0:
            raise UpstreamTimeout("The Git host did not return the whole list in time")
        return self._remaining_s

    def limit(self, results: Iterable[T]) -> Iterator[T]:
        """Yield the results, each of which may take calls.

        Raises:
            UpstreamTimeout: the results took too long, and there are more.
        """
        iterator, end = iter(results), object()
        while (result := self.run(lambda: next(iterator, end))) is not end:
            yield cast(T, result)

    def run(self, call: Callable[[], T]) -> T:
        """Return the result of a call and count its time.

        Raises:
            UpstreamTimeout: no time remained before the call.
        """
        start_s, _ = time.monotonic(), self.remaining_s
        try:
            return call()
        finally:
            self._remaining_s -= time.monotonic() - start_s


@dataclass
class EtagCache:
    """The newest responses by URL and credential. A response is returned only to the credential that fetched it."""

    _entries: "OrderedDict[str, tuple[str, HttpResponse]]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key: str) -> tuple[str, HttpResponse] | None:
        """Return the entity tag and the cached response of a key."""
        with self._lock:
            return self._entries.get(key)

    def store(self, key: str, response: HttpResponse) -> None:
        """Cache a small response with an entity tag."""
        tag = response.headers.get("ETag")
        if response.status != 200 or not tag or len(response.body) > MAX_BYTES:
            return
        with self._lock:
            self._entries[key] = (tag, response)
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)


@dataclass(frozen=True)
class SharedState:
    """The state that all providers of a process share: connections, rate budgets and cached responses."""

    http: HttpClient = field(default_factory=HttpClient)
    budgets: RateBudgets = field(default_factory=RateBudgets)
    etags: EtagCache = field(default_factory=EtagCache)
    replication: ReplicationRetry = field(default_factory=ReplicationRetry)


class RestClient:
    """The API below `base_url` with the tokens of one supplier. `deadline_s` limits a call with its retries.

    A client with a longer deadline than a request works in the background and does not use the last part of a rate
    budget.
    """

    def __init__(
        self,
        base_url: str,
        token: TokenSupplier,
        *,
        headers: Mapping[str, str],
        shared: SharedState,
        deadline_s: float = LIMITS.deadline_s,
    ) -> None:
        self._base_url, self._supplier, self._headers = base_url.rstrip("/"), token, dict(headers)
        self._shared, self._deadline_s = shared, deadline_s
        self._background = deadline_s > LIMITS.deadline_s
        self._lock = threading.Lock()
        self._token: str | None = None

    def listing_deadline(self) -> ListingDeadline:
        """Return the limit of a listing that starts now: that of one call, and ten times as much in the background."""
        return ListingDeadline(self._deadline_s * (BACKGROUND_LISTING_FACTOR if self._background else 1))

    def get(
        self,
        path: str,
        params: Query | None = None,
        *,
        conditional: bool = False,
        max_bytes: int | None = None,
        by_id: ById | None = None,
    ) -> Any:
        """Read JSON. `conditional` sends a conditional request if a response is cached."""
        return self.call("GET", path, params=params, conditional=conditional, max_bytes=max_bytes, by_id=by_id).json()

    def pages(
        self, path: str, params: Query, *, items: str | None = None, by_id: ById | None = None
    ) -> Iterator[list[Any]]:
        """Yield every page of a list by `Link: rel="next"`. `items` is the key of the list in the response.

        Raises:
            UpstreamTimeout: the calls together took longer than the limit of a listing.
            UpstreamError: the pages do not end.
        """
        query: Query | None = params
        known_queries: set[str] = set()
        deadline = self.listing_deadline()
        for _ in range(MAX_PAGES):
            response = deadline.run(
                partial(self.call, "GET", path, params=query, by_id=by_id, deadline_s=deadline.remaining_s)
            )
            yield _list_in(response.json(), items)
            # Use the query of the link only: the token must not be sent to another host.
            following = urlsplit(next_link(response.headers.get("Link", ""))).query
            if not following:
                return
            if following in known_queries:
                break
            known_queries.add(following)
            query = parse_qs(following, keep_blank_values=True)
        raise UpstreamError("The Git host returned a list with too many pages")

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Query | None = None,
        json: object = None,
        accept: str | None = None,
        repeatable: bool | None = None,
        conditional: bool = False,
        max_bytes: int | None = None,
        by_id: ById | None = None,
        deadline_s: float | None = None,
    ) -> HttpResponse:
        """Make one call with safe retries. Return the response with a status of 2xx.

        A `repeatable` call is idempotent (the default for GET and HEAD). Other calls are repeated only if they cannot
        have taken effect.

        Raises:
            RequestRefused, ReconnectRequired, UpstreamThrottled, UpstreamUnavailable, UpstreamError, UpstreamTimeout.
        """
        url = f"{self._base_url}{path}"
        moved_url = url.replace(by_id.named, by_id.numbered, 1) if by_id else None
        request = RestRequest(method, url, params, json, accept, conditional, max_bytes, moved_url)
        within_s = min(self._deadline_s, deadline_s or self._deadline_s)
        again = method in ("GET", "HEAD") if repeatable is None else repeatable
        until = time.monotonic() + within_s
        options = RetryOptions(
            is_transient=lambda failure: _passes(failure, again),
            requested_wait_s=_requested_wait_s,
            deadline_s=within_s,
        )
        return retry(lambda: self._authorized(request, until), options)

    def _authorized(self, request: RestRequest, until: float) -> HttpResponse:
        token = self._current(rejected=None)
        response = self._send_with(request, token, until)
        if response.status == UNAUTHORIZED:
            token = self._current(rejected=token)
            response = self._send_with(request, token, until)
        if response.status == UNAUTHORIZED:
            if isinstance(self._supplier, TokenMonitor):
                self._supplier.refused(token)
            raise ReconnectRequired(REJECTED)
        if isinstance(self._supplier, TokenMonitor):
            self._supplier.accepted(token)
        if request.moved_url and request.is_moved(response):
            response = self._send_with(replace(request, url=request.moved_url), token, until)
        return require_success(response)

    def _send_with(self, request: RestRequest, token: str, until: float) -> HttpResponse:
        """Send with a token. A token that the host may not have replicated yet is sent again."""
        return self._shared.replication.send(lambda: self._once(request, token, until), self._supplier, token, until)

    def _current(self, *, rejected: str | None) -> str:
        """Return the token. The supplier is called once for all calls whose token was rejected."""
        with self._lock:
            if self._token is None or self._token == rejected:
                self._token = self._supplier(rejected)
            return self._token

    def _once(self, request: RestRequest, token: str, until: float) -> HttpResponse:
        fingerprint = hashlib.sha256(token.encode()).hexdigest()
        key = f"{fingerprint} {request.accept} {request.url} {sorted((request.params or {}).items())}"
        cached = self._shared.etags.find(key) if request.conditional else None
        headers = {**self._headers, "Authorization": f"Bearer {token}"}
        if request.accept:
            headers["Accept"] = request.accept
        if cached:
            headers["If-None-Match"] = cached[0]
        self._shared.budgets.check(fingerprint, background=self._background)
        response = self._shared.http.send(
            request.method,
            request.url,
            headers=headers,
            params=request.params,
            json=request.json,
            max_bytes=request.max_bytes,
            deadline_s=max(1.0, until - time.monotonic()),
        )
        self._shared.budgets.observe(fingerprint, response)
        if (remaining_calls := remaining(response)) is not None:
            GIT_BUDGET.labels(urlsplit(request.url).hostname or "-").set(remaining_calls)
        if cached and response.status == 304:
            return cached[1]
        if request.conditional:
            self._shared.etags.store(key, response)
        return response


@parses
def _list_in(page: Any, items: str | None) -> list[object]:
    items_of_page = page[items] if items else page
    if not isinstance(items_of_page, list):
        raise TypeError
    return items_of_page


def _passes(failure: Exception, repeatable: bool) -> bool:
    if isinstance(failure, (ConnectFailed, UpstreamThrottled)):
        return True
    return (
        repeatable
        and isinstance(failure, (UpstreamUnavailable, UpstreamError, UpstreamTimeout))
        and not isinstance(failure, ResponseTooLarge)
    )


def _requested_wait_s(failure: Exception) -> float | None:
    return failure.retry_after_s if isinstance(failure, (UpstreamThrottled, RetryAfter)) else None
