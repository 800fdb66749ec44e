"""What a Git host says of its rate limits, kept per credential so that no call is made that must be refused.

Sources: GitHub “Rate limits for the REST API”, GitLab “Rate limits”. Shared by every provider of one process, and by
all nodes through a board.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from app.drivers.errors import Throttled
from app.drivers.http import Answer

KEPT = 1024
KEPT_FOR_PEOPLE = 0.1  # of a token's budget
UNSAID_S = 60  # GitHub: wait at least a minute when a refusal for rate names no time

_REFUSALS = (403, 429)


def refused_for_s(answer: Answer) -> int | None:
    """How long to wait when an answer refuses the call for its rate; None when it does not."""
    if answer.status not in _REFUSALS:
        return None
    asked = _number(answer, "Retry-After")
    if asked is not None:
        return max(1, asked)
    if remaining(answer) == 0 and (reset := _reset_at(answer)) is not None:
        return max(1, round(reset - time.time()))
    limited = answer.status == 429 or b"rate limit" in answer.body[:2000].lower()
    return UNSAID_S if limited else None


class Board(Protocol):
    """Where the nodes tell each other what is used up. Never raises: a node that can not be told finds out itself."""

    def until(self, keys: Sequence[str]) -> list[float]:
        """Until when (Unix time) each is closed; 0 where it is open or nothing is known."""

    def close(self, key: str, until: float) -> None:
        """Say that one is closed until then."""


class RateBudgets:
    """Which credentials have nothing left, and until when; keyed by a fingerprint of the token.

    The last tenth of a budget is for calls that people wait for: those in the background stop before it.
    """

    def __init__(self, board: Board | None = None) -> None:
        self._board = board
        self._until: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, key: str, *, background: bool = False) -> None:
        """Refuse a call that the host would refuse, or that would take what is kept for others. Raises Throttled."""
        keys = [key, _background(key)] if background else [key]
        with self._lock:
            until = max(self._until.get(each, 0.0) for each in keys)
        now = time.time()
        if until <= now and self._board is not None:
            until = max(self._board.until(keys))
        if until > now:
            raise Throttled("The Git host's rate limit is used up", retry_after_s=max(1, round(until - now)))

    def observe(self, key: str, answer: Answer) -> None:
        """Take in what an answer tells of the budget."""
        wait_s = refused_for_s(answer)
        left, reset_at = remaining(answer), _reset_at(answer)
        if wait_s is not None:
            self._close(key, time.time() + wait_s)
        elif left is not None and reset_at is not None:
            if left == 0:
                self._close(key, reset_at)
            elif left < KEPT_FOR_PEOPLE * (_limit(answer) or 0):
                self._close(_background(key), reset_at)

    def _close(self, key: str, until: float) -> None:
        with self._lock:
            is_news = self._until.get(key, 0.0) != until
            self._until[key] = until
            self._until.move_to_end(key)
            while len(self._until) > KEPT:
                self._until.popitem(last=False)
        if is_news and self._board is not None and until > time.time():
            self._board.close(key, until)


def _background(key: str) -> str:
    return f"{key} background"


def remaining(answer: Answer) -> int | None:
    """How many calls are left of the limit, where an answer tells."""
    return _first(answer, "X-RateLimit-Remaining", "RateLimit-Remaining")


def _limit(answer: Answer) -> int | None:
    return _first(answer, "X-RateLimit-Limit", "RateLimit-Limit")


def _reset_at(answer: Answer) -> float | None:
    return _first(answer, "X-RateLimit-Reset", "RateLimit-Reset")


def _first(answer: Answer, *names: str) -> int | None:
    found = (_number(answer, name) for name in names)
    return next((number for number in found if number is not None), None)


def _number(answer: Answer, name: str) -> int | None:
    text = answer.headers.get(name, "")
    return int(text) if text.isdecimal() else None
