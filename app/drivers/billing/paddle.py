"""Payments by Paddle Billing; https://developer.paddle.com/api-reference."""

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
from app.drivers.billing.paddle_signature import check_signature
from app.drivers.billing.paddle_values import moment, read_event, standing
from app.drivers.billing.paddle_wire import PaddleCalls, may_pass
from app.drivers.billing.port import BillingEvent, PaymentUpdate, SubscriptionState, SubscriptionStatus, Unreadable
from app.drivers.errors import Broken, DriverError, Rejected
from app.drivers.http import HttpClient

log = structlog.get_logger(__name__)

PER_PAGE = 200
CANCEL_ATTEMPTS, CANCEL_PAUSE_S = 3, 0.5


class PaddleBilling:
    """The provider; holds no state but its connections."""

    def __init__(
        self, api_url: str, api_key: str, *, webhook_secrets: Sequence[str], limits: OutboundLimits | None = None
    ) -> None:
        limits = limits or OutboundLimits()
        self._calls = PaddleCalls(HttpClient(limits=limits), api_url, api_key, limits=limits)
        self._secrets = tuple(webhook_secrets)

    def cancel(self, provider_id: str, *, immediately: bool) -> BillingEvent:
        """Cancel a subscription, looking before each of a few attempts whether it is canceled already."""
        path, last = f"/subscriptions/{quote(provider_id, safe='')}", None
        for attempt in range(CANCEL_ATTEMPTS):
            found = standing("subscription", self._calls.read(path))
            if _is_canceled(found, immediately=immediately):
                return found
            if last is not None and not may_pass(last):
                raise last
            _pause(attempt)
            try:
                return self._cancel(path, immediately=immediately)
            except DriverError as failure:
                if not (may_pass(failure) or isinstance(failure, Rejected)):
                    raise
                last = failure
        found = standing("subscription", self._calls.read(path))
        if last is not None and not _is_canceled(found, immediately=immediately):
            raise last
        return found

    def _cancel(self, path: str, *, immediately: bool) -> BillingEvent:
        words = SubscriptionEffectiveFrom
        operation = CancelSubscription(words.Immediately if immediately else words.NextBillingPeriod)
        entity, seen_at = self._calls.write(f"{path}/cancel", operation)
        return standing("subscription", entity, seen_at)

    def payment_update(self, provider_id: str) -> PaymentUpdate:
        """A checkout for another payment method."""
        path = f"/subscriptions/{quote(provider_id, safe='')}/update-payment-method-transaction"
        found = self._calls.read(path)
        try:
            return PaymentUpdate(str(found["id"]), (found.get("checkout") or {}).get("url"))
        except (KeyError, AttributeError) as fault:
            raise Broken("The payment provider's answer makes no sense") from fault

    def happened(self, since: datetime) -> Iterator[BillingEvent]:
        """What happened since, newest first; Paddle remembers 90 days."""
        for event in _readable(self._calls.pages("/events", ListEvents(_newest_first())), read_event):
            if event.occurred_at < since:
                return
            yield event

    def standing(self, since: datetime) -> Iterator[BillingEvent]:
        """Customers and subscriptions as they are, payments changed and refunds made since."""
        for kind, entities in self._lists(since):
            yield from _readable(entities, partial(standing, kind))

    def _lists(self, since: datetime) -> Iterator[tuple[str, Iterable[Any]]]:
        pages, newest, after = self._calls.pages, _newest_first(), DateComparison(since, Comparator.GTE)
        paid = [TransactionStatus.Completed, TransactionStatus.PastDue]
        yield "customer", pages("/customers", ListCustomers(newest))
        yield "subscription", pages("/subscriptions", ListSubscriptions(newest))
        yield "transaction", pages("/transactions", ListTransactions(newest, updated_at=after, statuses=paid))
        yield "adjustment", _made_since(since, pages("/adjustments", ListAdjustments(newest)))

    def notification(self, signature: str | None, body: bytes, now: datetime) -> BillingEvent:
        """Read what Paddle sent, once its signature is right."""
        check_signature(signature, body, secrets=self._secrets, now=now)
        try:
            payload = orjson.loads(body)
        except orjson.JSONDecodeError as fault:
            raise Unreadable("The event is not JSON") from fault
        return read_event(payload)


def _is_canceled(found: BillingEvent, *, immediately: bool) -> bool:
    state = found.state
    if not isinstance(state, SubscriptionState):
        return False
    return state.status is SubscriptionStatus.CANCELED or (not immediately and state.cancel_at is not None)


def _pause(attempt: int) -> None:
    """Full jitter before the second attempt and later ones; the randomness guards nothing."""
    if attempt:
        time.sleep(random.uniform(0, CANCEL_PAUSE_S * 2**attempt))  # noqa: S311


def _newest_first() -> Pager:
    return Pager(order_by=OrderBy.id_descending(), per_page=PER_PAGE)


def _made_since(since: datetime, entities: Iterable[Any]) -> Iterator[Any]:
    """Adjustments cannot be asked for by time; they come newest first, and rarely change long after."""
    for entity in entities:
        if moment(entity["created_at"]) < since:
            return
        yield entity


def _readable(entities: Iterable[Any], read: Callable[[Any], BillingEvent]) -> Iterator[BillingEvent]:
    """What can be read; one entity that cannot must not hide the others."""
    for entity in entities:
        try:
            event = read(entity)
        except Unreadable as fault:
            log.warning("billing.unreadable", problem=str(fault), id=str(entity.get("id") or entity.get("event_id")))
        else:
            yield event
