"""Paddle's SDK over our own way out: its requests are bounded, logged and told apart here; it retries nothing itself.

The SDK composes paths, parameters and bodies. Its entities are not used: they refuse what Paddle adds or leaves out,
and its resource clients keep the last answer in a shared attribute, so two greenlets could read each other's.
"""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import orjson
from paddle_billing.Client import Client
from paddle_billing.HasParameters import HasParameters
from paddle_billing.Operation import Operation
from paddle_billing.ResponseParser import ResponseParser

from app.core.limits import OutboundLimits
from app.core.retry import RetryOptions, retry
from app.drivers.billing.port import UnknownSubscription
from app.drivers.errors import Absent, Broken, DriverError, Late, Rejected, Throttled
from app.drivers.http import Answer, Cut, HttpClient

MAX_PAGES = 1_000
PASSING_STATUSES = frozenset({408, 425, 500, 502, 503, 504})
THROTTLED_WAIT_S = 5


class Failing(Broken):
    """The provider answered with a fault of its own that may pass; what was asked may have taken effect."""


class Reply:
    """A good answer, as far as the SDK looks at it."""

    def __init__(self, answer: Answer) -> None:
        self.status_code = answer.status
        self.headers = answer.headers
        self.text = answer.body.decode("utf-8", "replace")

    def raise_for_status(self) -> None:
        """Nothing to raise: failures were told apart before."""


class Transport:
    """What the SDK takes for its HTTP session. The host is always the configured one, whatever a page link says."""

    def __init__(self, http: HttpClient, api_url: str, api_key: str) -> None:
        self._http, self._api_url = http, api_url
        self._credential = {"Authorization": f"Bearer {api_key}", "Paddle-Version": "1"}
        self.headers: dict[str, str] = {}

    def request(self, method: str, url: str, data: str | None = None, timeout: float | None = None) -> Reply:
        """Make one call.

        Raises:
            DriverError: it did not succeed.
        """
        body = None if data is None else orjson.loads(data)
        answer = self._http.send(method, self._address(url), headers=self._credential, json=body)
        if answer.status >= 300:
            raise failure_of(answer)
        return Reply(answer)

    def _address(self, url: str) -> str:
        parts = urlsplit(url)
        path = parts.path.removeprefix(urlsplit(self._api_url).path)
        return f"{self._api_url}{path}" + (f"?{parts.query}" if parts.query else "")


class _Here:
    """The SDK's `Options`, for an address of its own choosing: `Transport` puts the host before every path."""

    class environment:  # noqa: N801 (the SDK's name)
        base_url = ""


class PaddleCalls:
    """The calls the driver needs; reads are repeated while their failure may pass, writes never."""

    def __init__(self, http: HttpClient, api_url: str, api_key: str, *, limits: OutboundLimits) -> None:
        transport: Any = Transport(http, api_url, api_key)
        options: Any = _Here()
        self._client = Client(api_key, options=options, http_client=transport)
        self._patience = RetryOptions(
            passing=may_pass, asked_wait_s=_asked_wait_s, attempts=limits.attempts, deadline_s=limits.deadline_s
        )

    def read(self, path: str) -> Any:
        """One entity."""
        reply = retry(lambda: self._client.get_raw(path), self._patience)
        return _data(reply, dict)

    def write(self, path: str, operation: Operation) -> tuple[Any, Any]:
        """One POST, made once; the entity it answers with, and when that was by the provider's clock, if told."""
        reply: Any = self._client.post_raw(path, operation)
        told = reply.headers.get("Date")
        return _data(reply, dict), parsedate_to_datetime(told) if told else None

    def pages(self, path: str, operation: HasParameters) -> Iterator[Any]:
        """Every entity of a list, page by page; the number of pages is bounded."""
        following: str | None = self._client.format_uri_parameters(path, operation)
        for _ in range(MAX_PAGES):
            if following is None:
                return
            reply = retry(lambda url=following: self._client.get_raw(url), self._patience)  # type: ignore[misc]
            yield from _data(reply, list)
            paging = ResponseParser(reply).get_pagination()
            following = paging.next if paging.has_more else None
        raise Broken("The payment provider's list does not end")


def may_pass(failure: Exception) -> bool:
    """Whether another try may find it gone."""
    return isinstance(failure, Absent | Late | Throttled | Cut | Failing)


def _asked_wait_s(failure: Exception) -> float | None:
    return failure.retry_after_s if isinstance(failure, Throttled) else None


def _data(reply: Any, kind: type) -> Any:
    data = ResponseParser(reply).get_data()
    if not isinstance(data, kind):
        raise Broken("The payment provider's answer makes no sense")
    return data


def failure_of(answer: Answer) -> DriverError:
    """What a bad status means; https://developer.paddle.com/api-reference/about/errors."""
    if answer.status in PASSING_STATUSES:
        return Failing("The payment provider is not working")
    match answer.status:
        case 429:
            asked = answer.headers.get("Retry-After", "")
            wait_s = int(asked) if asked.isascii() and asked.isdigit() else THROTTLED_WAIT_S
            return Throttled("The payment provider is asked too often", retry_after_s=wait_s)
        case 404:
            return UnknownSubscription("The payment provider does not know this")
        case 400 | 409 | 422:
            return Rejected(f"The payment provider refuses this ({_code(answer)})", code="BILLING_REFUSED")
        case _:
            return Broken("The payment provider does not accept us")


def _code(answer: Answer) -> str:
    try:
        return str(orjson.loads(answer.body)["error"]["code"])[:80]
    except (ValueError, KeyError, TypeError):
        return str(answer.status)
