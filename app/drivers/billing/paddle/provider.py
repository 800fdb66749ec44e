"""Driver of Paddle Billing. Source: https://developer.paddle.com/api-reference.

Notifications are signed: `Paddle-Signature: ts=…;h1=…`. Several `h1` occur while a secret is rotated. Source:
https://developer.paddle.com/webhooks/signature-verification. The SDK checks the HMAC. Its `Verifier` is not used,
because the environment variable `TEST_MODE` switches its time check off.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

import orjson
import structlog
from paddle_billing.Entities.Shared.TransactionStatus import TransactionStatus
from paddle_billing.Entities.Subscriptions.SubscriptionEffectiveFrom import SubscriptionEffectiveFrom
from paddle_billing.Notifications.PaddleSignature import PaddleSignature
from paddle_billing.Notifications.Secret import Secret
from paddle_billing.Resources.Adjustments.Operations.ListAdjustments import ListAdjustments
from paddle_billing.Resources.Customers.Operations.ListCustomers import ListCustomers
from paddle_billing.Resources.Events.Operations.ListEvents import ListEvents
from paddle_billing.Resources.Shared.Operations.List.Comparator import Comparator
from paddle_billing.Resources.Shared.Operations.List.DateComparison import DateComparison
from paddle_billing.Resources.Shared.Operations.List.OrderBy import OrderBy
from paddle_billing.Resources.Shared.Operations.List.Pager import Pager
from paddle_billing.Resources.Subscriptions.Operations.CancelSubscription import CancelSubscription
from paddle_billing.Resources.Subscriptions.Operations.ListSubscriptions import ListSubscriptions
from paddle_billing.Resources.Transactions.Operations.ListTransactions import ListTransactions

from app.core.limits import OutboundLimits
from app.drivers.billing.paddle.transport import PaddleCalls, is_transient
from app.drivers.billing.paddle.values import current_state_event, parse_time, read_event
from app.drivers.billing.port import (
    InvalidSignature,
    MalformedEvent,
    PaymentUpdate,
    ProviderEvent,
    SubscriptionState,
    SubscriptionStatus,
)
from app.drivers.errors import DriverError, UpstreamError, UpstreamRejected
from app.drivers.http.client import HttpClient

log = structlog.get_logger(__name__)

PER_PAGE = 200
CANCEL_ATTEMPTS, CANCEL_PAUSE_S = 3, 0.5
TOLERANCE_S = 300
MAX_HEADER_CHARACTERS = 1024


class PaddleBilling:
    """Paddle Billing. The only state is the connections."""

    def __init__(
        self, api_url: str, api_key: str, *, webhook_secrets: Sequence[str], limits: OutboundLimits | None = None
    ) -> None:
        limits = limits or OutboundLimits()
        self._calls = PaddleCalls(HttpClient(limits=limits), api_url, api_key, limits=limits)
        self._secrets = tuple(webhook_secrets)

    def cancel(self, provider_id: str, *, immediately: bool) -> ProviderEvent:
        """Cancel a subscription. Each attempt first checks whether it is already canceled."""
        path, last = f"/subscriptions/{quote(provider_id, safe='')}", None
        for attempt in range(CANCEL_ATTEMPTS):
            current = current_state_event("subscription", self._calls.read(path))
            if _is_canceled(current, immediately=immediately):
                return current
            if last is not None and not is_transient(last):
                raise last
            _pause(attempt)
            try:
                return self._cancel(path, immediately=immediately)
            except DriverError as failure:
                if not (is_transient(failure) or isinstance(failure, UpstreamRejected)):
                    raise
                last = failure
        current = current_state_event("subscription", self._calls.read(path))
        if last is not None and not _is_canceled(current, immediately=immediately):
            raise last
        return current

    def _cancel(self, path: str, *, immediately: bool) -> ProviderEvent:
        times = SubscriptionEffectiveFrom
        operation = CancelSubscription(times.Immediately if immediately else times.NextBillingPeriod)
        entity, received_at = self._calls.write(f"{path}/cancel", operation)
        return current_state_event("subscription", entity, received_at)

    def payment_update(self, provider_id: str) -> PaymentUpdate:
        path = f"/subscriptions/{quote(provider_id, safe='')}/update-payment-method-transaction"
        current = self._calls.read(path)
        try:
            return PaymentUpdate(str(current["id"]), (current.get("checkout") or {}).get("url"))
        except (KeyError, AttributeError) as error:
            raise UpstreamError("The payment provider returned an invalid response") from error

    def list_events(self, since: datetime) -> Iterator[ProviderEvent]:
        """Yield the events since a time, newest first. Paddle stores them for 90 days."""
        for event in _readable(self._calls.pages("/events", ListEvents(_newest_first())), read_event):
            if event.occurred_at < since:
                return
            yield event

    def current_state(self, since: datetime) -> Iterator[ProviderEvent]:
        """Yield all customers and subscriptions, and the payments and refunds since a time."""
        for kind, entities in self._lists(since):
            yield from _readable(entities, partial(current_state_event, kind))

    def _lists(self, since: datetime) -> Iterator[tuple[str, Iterable[object]]]:
        pages, newest, after = self._calls.pages, _newest_first(), DateComparison(since, Comparator.GTE)
        paid = [TransactionStatus.Completed, TransactionStatus.PastDue]
        yield "customer", pages("/customers", ListCustomers(newest))
        yield "subscription", pages("/subscriptions", ListSubscriptions(newest))
        yield "transaction", pages("/transactions", ListTransactions(newest, updated_at=after, statuses=paid))
        yield "adjustment", _created_since(since, pages("/adjustments", ListAdjustments(newest)))

    def parse_notification(self, signature: str | None, body: bytes, now: datetime) -> ProviderEvent:
        """Parse a notification after checking its signature."""
        check_signature(signature, body, secrets=self._secrets, now=now)
        try:
            payload = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise MalformedEvent("The event is not JSON") from error
        return read_event(payload)


def _is_canceled(current: ProviderEvent, *, immediately: bool) -> bool:
    state = current.state
    if not isinstance(state, SubscriptionState):
        return False
    return state.status is SubscriptionStatus.CANCELED or (not immediately and state.cancel_at is not None)


def _pause(attempt: int) -> None:
    """Sleep with full jitter before each attempt except the first. The randomness is not security relevant."""
    if attempt:
        time.sleep(random.uniform(0, CANCEL_PAUSE_S * 2**attempt))  # noqa: S311


def _newest_first() -> Pager:
    return Pager(order_by=OrderBy.id_descending(), per_page=PER_PAGE)


def _created_since(since: datetime, entities: Iterable[Any]) -> Iterator[object]:
    """Yield the adjustments since a time. The API cannot filter them by time and returns the newest first."""
    for entity in entities:
        if parse_time(entity["created_at"]) < since:
            return
        yield entity


def _readable(entities: Iterable[Any], read: Callable[[Any], ProviderEvent]) -> Iterator[ProviderEvent]:
    """Yield the valid entities. An invalid one is logged and skipped."""
    for entity in entities:
        try:
            event = read(entity)
        except MalformedEvent as error:
            log.warning(
                "billing.entity_invalid", problem=str(error), id=str(entity.get("id") or entity.get("event_id"))
            )
        else:
            yield event


def check_signature(header: str | None, body: bytes, *, secrets: Sequence[str], now: datetime) -> None:
    """Check that one of the secrets signed the body within `TOLERANCE_S` of `now`.

    Raises:
        InvalidSignature: the signature is missing, malformed, wrong or too old.
    """
    header = (header or "")[:MAX_HEADER_CHARACTERS]
    try:
        signed_at, _ = PaddleSignature.parse(header)
        signature = PaddleSignature()  # type: ignore[no-untyped-call]
        signature.verify(header, body.decode(), [Secret(secret) for secret in secrets if secret])
    # The SDK raises the first error for a wrong signature and the others for malformed values.
    except (ConnectionRefusedError, TypeError, ValueError) as error:
        raise InvalidSignature("The notification has no valid signature") from error
    if abs(int(now.timestamp()) - signed_at) > TOLERANCE_S:
        raise InvalidSignature(f"The notification was not signed within {TOLERANCE_S} s of now")
