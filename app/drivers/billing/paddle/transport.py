"""Transport of Paddle's SDK over the own HTTP client, which limits and logs requests and maps errors.

The SDK builds paths, parameters and bodies. Its entities are not used, because they reject added and omitted fields.
Its resource clients store the last response in a shared attribute, which is not safe with greenlets.
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
from app.drivers.errors import (
    DriverError,
    UpstreamError,
    UpstreamRejected,
    UpstreamThrottled,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.drivers.http.client import HttpClient, HttpResponse, ResponseTruncated

MAX_PAGES = 1_000
PASSING_STATUSES = frozenset({408, 425, 500, 502, 503, 504})
THROTTLED_WAIT_S = 5


class PaddleUnavailable(UpstreamError):
    """A temporary error of the provider. The request may have taken effect."""


class PaddleResponse:
    """A successful response with the attributes that the SDK reads."""

    def __init__(self, response: HttpResponse) -> None:
        self.status_code = response.status
        self.headers = response.headers
        self.text = response.body.decode("utf-8", "replace")

    def raise_for_status(self) -> None:
        """Do nothing: the transport has already raised errors."""


class PaddleTransport:
    """HTTP session for the SDK. It always uses the configured host, also for links to further pages."""

    def __init__(self, http: HttpClient, api_url: str, api_key: str) -> None:
        self._http, self._api_url = http, api_url
        self._credential = {"Authorization": f"Bearer {api_key}", "Paddle-Version": "1"}
        self.headers: dict[str, str] = {}

    def request(self, method: str, url: str, data: str | None = None, timeout: float | None = None) -> PaddleResponse:
        """Send one request.

        Raises:
            DriverError: the request failed.
        """
        body = None if data is None else orjson.loads(data)
        response = self._http.send(method, self._address(url), headers=self._credential, json=body)
        if response.status >= 300:
            raise failure_of(response)
        return PaddleResponse(response)

    def _address(self, url: str) -> str:
        parts = urlsplit(url)
        path = parts.path.removeprefix(urlsplit(self._api_url).path)
        return f"{self._api_url}{path}" + (f"?{parts.query}" if parts.query else "")


class _PaddleOptions:
    """`Options` of the SDK without a host. `PaddleTransport` adds the host to every path."""

    class environment:  # noqa: N801 (the SDK's name)
        base_url = ""


class PaddleCalls:
    """Calls of the driver. Reads are repeated after temporary errors, writes never."""

    def __init__(self, http: HttpClient, api_url: str, api_key: str, *, limits: OutboundLimits) -> None:
        transport: Any = PaddleTransport(http, api_url, api_key)
        options: Any = _PaddleOptions()
        self._client = Client(api_key, options=options, http_client=transport)
        self._retry_options = RetryOptions(
            is_transient=is_transient,
            requested_wait_s=_requested_wait_s,
            attempts=limits.attempts,
            deadline_s=limits.deadline_s,
        )

    def read(self, path: str) -> Any:
        reply = retry(lambda: self._client.get_raw(path), self._retry_options)
        return _data(reply, dict)

    def write(self, path: str, operation: Operation) -> tuple[Any, Any]:
        """Send one POST. Return the entity and the time of the response by the provider's clock, if it is sent."""
        reply: Any = self._client.post_raw(path, operation)
        date = reply.headers.get("Date")
        return _data(reply, dict), parsedate_to_datetime(date) if date else None

    def pages(self, path: str, operation: HasParameters, max_pages: int = MAX_PAGES) -> Iterator[object]:
        """Yield every entity of a list. The number of pages is limited."""
        following: str | None = self._client.format_uri_parameters(path, operation)
        for _ in range(max_pages):
            if following is None:
                return
            reply = retry(lambda url=following: self._client.get_raw(url), self._retry_options)  # type: ignore[misc]
            yield from _data(reply, list)
            paging = ResponseParser(reply).get_pagination()
            following = paging.next if paging.has_more else None
        if following is not None:
            raise UpstreamError("The list of the payment provider has too many pages")


def is_transient(failure: Exception) -> bool:
    """Return whether the error is temporary."""
    return isinstance(
        failure, UpstreamUnavailable | UpstreamTimeout | UpstreamThrottled | ResponseTruncated | PaddleUnavailable
    )


def _requested_wait_s(failure: Exception) -> float | None:
    return failure.retry_after_s if isinstance(failure, UpstreamThrottled) else None


def _data(reply: Any, kind: type) -> Any:
    data = ResponseParser(reply).get_data()
    if not isinstance(data, kind):
        raise UpstreamError("The payment provider returned an invalid response")
    return data


def failure_of(response: HttpResponse) -> DriverError:
    """Return the error of a status. Source: https://developer.paddle.com/api-reference/about/errors."""
    if response.status in PASSING_STATUSES:
        return PaddleUnavailable("The payment provider failed")
    match response.status:
        case 429:
            retry_after = response.headers.get("Retry-After", "")
            wait_s = int(retry_after) if retry_after.isascii() and retry_after.isdigit() else THROTTLED_WAIT_S
            return UpstreamThrottled("The rate limit of the payment provider is reached", retry_after_s=wait_s)
        case 404:
            return UnknownSubscription("The payment provider does not know this object")
        case 400 | 409 | 422:
            return UpstreamRejected(
                f"The payment provider rejected the request ({_code(response)})", code="BILLING_REFUSED"
            )
        case _:
            return UpstreamError("The payment provider rejected the credentials or failed")


def _code(response: HttpResponse) -> str:
    try:
        return str(orjson.loads(response.body)["error"]["code"])[:80]
    except (ValueError, KeyError, TypeError):
        return str(response.status)
