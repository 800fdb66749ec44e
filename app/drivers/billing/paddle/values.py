"""Conversion of Paddle's entities and events. Unknown fields are ignored.

Source: https://developer.paddle.com/webhooks and the API reference. Amounts are strings of minor units. The plan is the
name in the catalogue (`custom_data.plan` of the price or product, else a name), never a value of the checkout.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from app.drivers.billing.port import (
    CustomerState,
    MalformedEvent,
    PaymentState,
    PaymentStatus,
    ProviderEvent,
    RefundState,
    State,
    SubscriptionState,
    SubscriptionStatus,
)

Entity = Mapping[str, Any]

REFUNDS = frozenset({"refund", "chargeback", "credit"})
REVERSALS = frozenset({"chargeback_reverse", "credit_reverse"})
INTERVALS = frozenset({"day", "week", "month", "year"})
MAX_MINOR = 10**11
"""Upper bound of an amount. The monthly amount in millionths still fits into 64 bits."""
NO_SALE = "subscription_payment_method_change"
"""The origin of transactions that only change the payment method."""


def read_event(payload: Entity) -> ProviderEvent:
    """Parse a notification or a listed event. Raises MalformedEvent."""
    try:
        kind = _text(payload["event_type"])
        occurred_at = parse_time(payload["occurred_at"])
        return ProviderEvent(_text(payload["event_id"]), kind, occurred_at, _state(kind, payload["data"], occurred_at))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise MalformedEvent(f"The event cannot be read: {type(error).__name__}") from error


def current_state_event(kind: str, entity: Entity, received_at: datetime | None = None) -> ProviderEvent:
    """Return the present state of an entity as an event. Equal states have equal ids.

    The time of the event is the later one of the change and `received_at`.

    Raises:
        MalformedEvent: the content is invalid.
    """
    try:
        at = max(
            parse_time(entity.get("updated_at") or entity["created_at"]),
            received_at or datetime.min.replace(tzinfo=UTC),
        )
        name = f"standing:{_text(entity['id'])}:{at.isoformat()}"
        return ProviderEvent(name, f"{kind}.standing", at, _state(f"{kind}.standing", entity, at))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise MalformedEvent(f"The {kind} cannot be read: {type(error).__name__}") from error


def parse_time(value: str) -> datetime:
    """Parse an RFC 3339 time to the microsecond. Paddle may send nanoseconds."""
    whole, _, fraction = value.removesuffix("Z").partition(".")
    digits = fraction[: len(fraction) - len(fraction.lstrip("0123456789"))]
    moment = datetime.fromisoformat(whole + fraction[len(digits) :])
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).replace(microsecond=int(digits[:6].ljust(6, "0")))


def _state(kind: str, data: Entity, occurred_at: datetime) -> State | None:
    match kind.split("."):
        case ["subscription", _]:
            return _subscription(data)
        case ["transaction", "completed" | "payment_failed" | "standing" as action]:
            return _payment(data, occurred_at, failed=action == "payment_failed")
        case ["adjustment", "created" | "updated" | "standing"]:
            return _refund(data)
        case ["customer", "created" | "updated" | "standing"]:
            return CustomerState(_text(data["id"]), _text(data["email"]), _named_user(data))
        case _:
            return None


def _subscription(data: Entity) -> SubscriptionState:
    items = [item for item in data["items"] if item.get("recurring", True)] or data["items"]
    cycle = data.get("billing_cycle") or items[0]["price"]["billing_cycle"]
    if cycle["interval"] not in INTERVALS or int(cycle["frequency"]) < 1:
        raise ValueError("billing_cycle")
    period, change = data.get("current_billing_period") or {}, data.get("scheduled_change") or {}
    return SubscriptionState(
        provider_id=_text(data["id"]),
        customer_id=_optional(data.get("customer_id")),
        user_id=_named_user(data),
        status=SubscriptionStatus(data["status"]),
        plan=_plan(items[0]),
        amount_minor=_amount(sum(int(i["price"]["unit_price"]["amount"]) * int(i.get("quantity", 1)) for i in items)),
        currency=_currency(data),
        interval=cycle["interval"],
        frequency=int(cycle["frequency"]),
        started_at=_moment(data.get("started_at") or data.get("created_at")),
        current_period_end=_moment(period.get("ends_at") or data.get("next_billed_at")),
        cancel_at=_moment(change.get("effective_at")) if change.get("action") == "cancel" else None,
        canceled_at=_moment(data.get("canceled_at")),
    )


def _payment(data: Entity, occurred_at: datetime, *, failed: bool) -> PaymentState | None:
    if data.get("origin") == NO_SALE:
        return None
    totals, period = data["details"]["totals"], data.get("billing_period") or {}
    status = PaymentStatus.FAILED if failed or data.get("status") == "past_due" else PaymentStatus.COMPLETED
    return PaymentState(
        provider_id=_text(data["id"]),
        customer_id=_optional(data.get("customer_id")),
        user_id=_named_user(data),
        subscription_id=_optional(data.get("subscription_id")),
        status=status,
        number=_optional(data.get("invoice_number")),
        plan=_plan(data["items"][0]) if data.get("items") else None,
        amount_minor=_amount(totals.get("grand_total") or totals["total"]),
        currency=_currency(data),
        period=f"{period['starts_at'][:10]}/{period['ends_at'][:10]}" if period else None,
        invoice_url=None,
        completed_at=_completed_at(data, occurred_at) if status is PaymentStatus.COMPLETED else None,
    )


def _completed_at(data: Entity, occurred_at: datetime) -> datetime:
    """Return the time of the last capture, else of the bill, else of the event."""
    captured = [_moment(payment.get("captured_at")) for payment in data.get("payments") or ()]
    times = [time for time in captured if time is not None]
    return max(times) if times else _moment(data.get("billed_at")) or occurred_at


def _refund(data: Entity) -> RefundState:
    action, amount = data["action"], _amount(data["totals"]["total"])
    return RefundState(
        provider_id=_text(data["id"]),
        customer_id=_optional(data.get("customer_id")),
        payment_id=_text(data["transaction_id"]),
        amount_minor=-amount if action in REVERSALS else amount,
        currency=_currency(data),
        is_approved=data["status"] == "approved" and action in REFUNDS | REVERSALS,
    )


def _plan(item: Entity) -> str:
    price, product = item["price"], item.get("product") or {}
    custom = [(source.get("custom_data") or {}).get("plan") for source in (price, product)]
    names = [*custom, product.get("name"), price.get("name"), price.get("product_id"), price.get("id")]
    return next(name for name in names if isinstance(name, str) and name)[:200]


def _named_user(data: Entity) -> str | None:
    result = (data.get("custom_data") or {}).get("user_id")
    return result if isinstance(result, str) and result else None


def _currency(data: Entity) -> str:
    result = data["currency_code"]
    if not (isinstance(result, str) and len(result) == 3 and result.isascii() and result.isupper()):
        raise ValueError("currency_code")
    return result


def _amount(value: str | int) -> int:
    result = int(value)
    if not 0 <= result <= MAX_MINOR:
        raise ValueError("amount")
    return result


def _moment(value: str | None) -> datetime | None:
    return parse_time(value) if value else None


def _text(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= 255:
        raise ValueError("text is missing")
    return value


def _optional(value: object) -> str | None:
    return None if value is None else _text(value)
