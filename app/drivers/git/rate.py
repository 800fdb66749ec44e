"""What a Git host says of its rate limits, kept per credential so that no call is made that must be refused.

Sources: GitHub “Rate limits for the REST API”, GitLab “Rate limits”. Shared by every provider of one process.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from app.drivers.errors import Throttled
from app.drivers.http import Answer

KEPT = 1024
UNSAID_S = 60  # GitHub: wait at least a minute when a refusal for rate names no time

_REFUSALS = (403, 429)


def refused_for_s(answer: Answer) -> int | None:
    """How long to wait when an answer refuses the call for its rate; None when it does not."""
    if answer.status not in _REFUSALS:
        return None
    asked = _number(answer, "Retry-After")
    if asked is not None:
        return max(1, asked)
    if _remaining(answer) == 0 and (reset := _reset_at(answer)) is not None:
        return max(1, round(reset - time.time()))
    limited = answer.status == 429 or b"rate limit" in answer.body[:2000].lower()
    return UNSAID_S if limited else None


@dataclass
class RateBudgets:
    """Which credentials have nothing left, and until when; keyed by a fingerprint of the token."""

    _until: "OrderedDict[str, float]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, key: str) -> None:
        """Refuse a call that the host would refuse. Raises Throttled."""
        with self._lock:
            until = self._until.get(key, 0.0)
        left_s = until - time.time()
        if left_s > 0:
            raise Throttled("The Git host's rate limit is used up", retry_after_s=max(1, round(left_s)))

    def observe(self, key: str, answer: Answer) -> None:
        """Take in what an answer tells of the budget."""
        wait_s = refused_for_s(answer)
        until = time.time() + wait_s if wait_s is not None else None
        if until is None and _remaining(answer) == 0:
            until = _reset_at(answer)
        with self._lock:
            if until is None:
                return
            self._until[key] = until
            self._until.move_to_end(key)
            while len(self._until) > KEPT:
                self._until.popitem(last=False)


def _remaining(answer: Answer) -> int | None:
    return _first(answer, "X-RateLimit-Remaining", "RateLimit-Remaining")


def _reset_at(answer: Answer) -> float | None:
    return _first(answer, "X-RateLimit-Reset", "RateLimit-Reset")


def _first(answer: Answer, *names: str) -> int | None:
    found = (_number(answer, name) for name in names)
    return next((number for number in found if number is not None), None)


def _number(answer: Answer, name: str) -> int | None:
    text = answer.headers.get(name, "")
    return int(text) if text.isdecimal() else None
