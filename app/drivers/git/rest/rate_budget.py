"""Rate limits of Git hosts per credential. A call that the host must refuse is not made.

Sources: GitHub “Rate limits for the REST API”, GitLab “Rate limits”. Shared by every provider of one process, and by
all nodes through a board.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from app.drivers.errors import UpstreamThrottled
from app.drivers.http.client import HttpResponse

MAX_ENTRIES = 1024
RESERVED_FOR_REQUESTS = 0.1  # share of the budget of a token
UNSAID_S = 60  # GitHub: wait at least one minute if a rate limit response names no time

_REFUSALS = (403, 429)


def retry_after_s(response: HttpResponse) -> int | None:
    """Return the wait in seconds if a response refuses the call because of its rate, else None."""
    if response.status not in _REFUSALS:
        return None
    requested = _number(response, "Retry-After")
    if requested is not None:
        return max(1, requested)
    if remaining(response) == 0 and (reset := _reset_at(response)) is not None:
        return max(1, round(reset - time.time()))
    limited = response.status == 429 or b"rate limit" in response.body[:2000].lower()
    return UNSAID_S if limited else None


class SharedBudgets(Protocol):
    """The exhausted budgets that the nodes share. Never raises: a node without a connection detects them by itself."""

    def until(self, keys: Sequence[str]) -> list[float]:
        """Return the end of the wait of each credential (Unix time), or 0 if it may be used."""

    def close(self, key: str, until: float) -> None:
        """Record that a credential is exhausted until a time."""


class RateBudgets:
    """The exhausted credentials and the end of their waits, by fingerprint of the token.

    The last tenth of a budget is reserved for requests. Background calls stop before it.
    """

    def __init__(self, board: SharedBudgets | None = None) -> None:
        self._board = board
        self._until: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, key: str, *, background: bool = False) -> None:
        """Refuse a call that the host would refuse or that would use the reserved budget. Raises UpstreamThrottled."""
        keys = [key, _background(key)] if background else [key]
        with self._lock:
            until = max(self._until.get(key, 0.0) for key in keys)
        now = time.time()
        if until <= now and self._board is not None:
            until = max(self._board.until(keys))
        if until > now:
            raise UpstreamThrottled(
                "The rate limit of the Git host is exhausted", retry_after_s=max(1, round(until - now))
            )

    def observe(self, key: str, response: HttpResponse) -> None:
        """Record the budget that a response reports."""
        wait_s = retry_after_s(response)
        remaining_calls, reset_at = remaining(response), _reset_at(response)
        limit = _first(response, "X-RateLimit-Limit", "RateLimit-Limit")
        if wait_s is not None:
            self._close(key, time.time() + wait_s)
        elif remaining_calls is not None and reset_at is not None:
            if remaining_calls == 0:
                self._close(key, reset_at)
            elif remaining_calls < RESERVED_FOR_REQUESTS * (limit or 0):
                self._close(_background(key), reset_at)

    def _close(self, key: str, until: float) -> None:
        with self._lock:
            is_news = self._until.get(key, 0.0) != until
            self._until[key] = until
            self._until.move_to_end(key)
            while len(self._until) > MAX_ENTRIES:
                self._until.popitem(last=False)
        if is_news and self._board is not None and until > time.time():
            self._board.close(key, until)


def _background(key: str) -> str:
    return f"{key} background"


def remaining(response: HttpResponse) -> int | None:
    """Return the remaining calls of the limit, or None if the response does not report them."""
    return _first(response, "X-RateLimit-Remaining", "RateLimit-Remaining")


def _reset_at(response: HttpResponse) -> float | None:
    return _first(response, "X-RateLimit-Reset", "RateLimit-Reset")


def _first(response: HttpResponse, *names: str) -> int | None:
    match = (_number(response, name) for name in names)
    return next((number for number in match if number is not None), None)


def _number(response: HttpResponse, name: str) -> int | None:
    text = response.headers.get(name, "")
    return int(text) if text.isdecimal() else None
