"""Interpretation of the responses of Git hosts: results, refusals and transient failures."""

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from app.drivers.errors import UpstreamError, UpstreamRejected, UpstreamThrottled, UpstreamTimeout, UpstreamUnavailable
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.rest.rate_budget import retry_after_s
from app.drivers.http.client import ConnectFailed, HttpResponse

P = ParamSpec("P")
T = TypeVar("T")

_SECRET = re.compile(r"\b(?:gh[a-z]_|github_pat_|gl[a-z]+-)[\w-]+|\b(?=\w*\d)\w{24,}\b")
"""Tokens of both hosts by their prefixes, and any other text of the length of a token."""


class RequestRefused(UpstreamRejected):
    """A call that the host refused (4xx, except for credentials and rates).

    `message_of_host` is the host's explanation.
    """

    def __init__(self, status: int, message_of_host: str) -> None:
        super().__init__(
            f"The Git host refused this: {message_of_host}" if message_of_host else "The Git host refused this"
        )
        self.status, self.message_of_host = status, message_of_host


class RetryAfter(UpstreamUnavailable):
    """A host that is unavailable and reports a wait."""


def is_outcome_unknown(failure: Exception) -> bool:
    """Return whether a failed write may have taken effect. Such a write is looked up before it is repeated."""
    return isinstance(failure, (UpstreamError, UpstreamUnavailable, UpstreamTimeout)) and not isinstance(
        failure, ConnectFailed
    )


def parses(read: Callable[P, T]) -> Callable[P, T]:
    """Make a function that parses JSON raise UpstreamError if the JSON has an unknown form."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as fault:
            raise UpstreamError("The Git host returned an unexpected response") from fault

    return reading


def require_success(response: HttpResponse) -> HttpResponse:
    """Return a response with status 2xx. Raise the error of any other response."""
    if 200 <= response.status < 300:
        return response
    wait_s = retry_after_s(response)
    if wait_s is not None:
        raise UpstreamThrottled("The rate limit of the Git host is exhausted", retry_after_s=wait_s)
    if 300 <= response.status < 400:
        raise RepositoryUnavailable("The repository was renamed or moved. Connect it under its new name")
    match response.status:
        case 408 | 504:
            raise UpstreamTimeout("The Git host did not respond in time")
        case 425 | 503:
            retry_after = response.headers.get("Retry-After", "")
            failure = RetryAfter if retry_after.isdecimal() else UpstreamUnavailable
            raise failure(
                "The Git host is not available right now",
                retry_after_s=int(retry_after) if retry_after.isdecimal() else 1,
            )
        case status if status >= 500:
            raise UpstreamError("The Git host responded with a server error")
    raise RequestRefused(response.status, error_sentence(response))


def error_sentence(response: HttpResponse) -> str:
    """Return the message of an error body as one line without possible secrets, or an empty text."""
    try:
        body = response.json()
    except UpstreamError:
        return ""
    message = (
        body.get("message") or body.get("error_description") or body.get("error") if isinstance(body, dict) else None
    )
    parts = list(_sentences(message)) if message else []
    details = body.get("errors") if isinstance(body, dict) else None
    if isinstance(details, list):
        parts += [str(detail.get("message") or detail.get("code")) for detail in details if isinstance(detail, dict)]
    return quotable("; ".join(parts))


def _sentences(message: object) -> Iterator[str]:
    """Yield the messages of a text, a list or an object with messages per field (GitLab's `{"base": ["…"]}`)."""
    if isinstance(message, dict):
        for name, inner in message.items():
            yield from (text if name == "base" else f"{name} {text}" for text in _sentences(inner))
    elif isinstance(message, list):
        for part in message:
            yield from _sentences(part)
    else:
        yield str(message)


def quotable(text: str) -> str:
    """Return a message of a host as one line without possible secrets."""
    return _SECRET.sub("…", " ".join(text.split()))[:300]
