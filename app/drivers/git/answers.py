"""What a Git host's answers mean: results, refusals, failures that may pass; makes no call."""

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from app.drivers.errors import Absent, Broken, Late, Rejected, Throttled
from app.drivers.git.port import RepositoryUnavailable
from app.drivers.git.rate import refused_for_s
from app.drivers.http import Answer, Unreachable

P = ParamSpec("P")
T = TypeVar("T")

_SECRET = re.compile(r"\b(?:gh[a-z]_|github_pat_|gl[a-z]+-)[\w-]+|\b(?=\w*\d)\w{24,}\b")
"""Tokens of both hosts by their beginnings, and whatever else is as long as one."""


class Refusal(Rejected):
    """The host refused a call for what it asks (a 4xx that is not about credential or rate); `said` is its own sentence."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"The Git host refused this: {said}" if said else "The Git host refused this")
        self.status, self.said = status, said


class AskedToWait(Absent):
    """Absent, and the host named the wait."""


def in_doubt(failure: Exception) -> bool:
    """Whether a write that failed so may have taken effect all the same: it is looked up before it is repeated."""
    return isinstance(failure, (Broken, Absent, Late)) and not isinstance(failure, Unreachable)


def parses(read: Callable[P, T]) -> Callable[P, T]:
    """Make a function that reads a host's JSON raise Broken where it finds another shape than it knows."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as fault:
            raise Broken("The Git host answered in a form that is not understood") from fault

    return reading


def checked(answer: Answer) -> Answer:
    """An answer of status 2xx; any other becomes the exception it stands for."""
    if 200 <= answer.status < 300:
        return answer
    wait_s = refused_for_s(answer)
    if wait_s is not None:
        raise Throttled("The Git host's rate limit is used up", retry_after_s=wait_s)
    if 300 <= answer.status < 400:
        raise RepositoryUnavailable("The repository has been renamed or moved; connect it under its new name")
    match answer.status:
        case 408 | 504:
            raise Late("The Git host did not answer in time")
        case 425 | 503:
            asked = answer.headers.get("Retry-After", "")
            failure = AskedToWait if asked.isdecimal() else Absent
            raise failure(
                "The Git host is not available right now", retry_after_s=int(asked) if asked.isdecimal() else 1
            )
        case status if status >= 500:
            raise Broken("The Git host answered with an error of its own")
    raise Refusal(answer.status, said(answer))


def said(answer: Answer) -> str:
    """The host's own sentence in an error's body, cut to a line, without what may be a secret; empty when there is none."""
    try:
        body = answer.json()
    except Broken:
        return ""
    told = body.get("message") or body.get("error_description") or body.get("error") if isinstance(body, dict) else None
    parts = list(_sentences(told)) if told else []
    details = body.get("errors") if isinstance(body, dict) else None
    if isinstance(details, list):
        parts += [str(each.get("message") or each.get("code")) for each in details if isinstance(each, dict)]
    return quotable("; ".join(parts))


def _sentences(told: object) -> Iterator[str]:
    """What is said, be it a sentence, several, or several of each field (GitLab's `{"base": ["…"]}`)."""
    if isinstance(told, dict):
        for name, inner in told.items():
            yield from (words if name == "base" else f"{name} {words}" for words in _sentences(inner))
    elif isinstance(told, list):
        for each in told:
            yield from _sentences(each)
    else:
        yield str(told)


def quotable(words: str) -> str:
    """A host's words as people may read them: one line, and nothing in it that may be a secret it was sent."""
    return _SECRET.sub("…", " ".join(words.split()))[:300]
