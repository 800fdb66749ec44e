"""Storage of the payment provider's events, and the rows that are derived from all stored events.

Daily totals are updated with every change of an order, refund or period, so that a summary reads few rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa

from app.core.emails import InvalidEmail, email_key
from app.database.inserts import insert_or_ignore, insert_or_update
from app.drivers.billing import port
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.order import BillingCustomer, BillingDay, BillingEvent, Order, Refund, Subscription, SubscriptionPeriod
from app.resources.order import customer_matching, projection
from app.resources.order.projection import Period, S, TimedState, customer_of, from_json, to_json

T = TypeVar("T", Order, Refund, Subscription)

PREFIXES: dict[type, str] = {
    port.SubscriptionState: "subscription.",
    port.PaymentState: "transaction.",
    port.RefundState: "adjustment.",
    port.CustomerState: "customer.",
}
COLUMNS = ("revenue_minor", "refunds_minor", "billed_millionths", "billed_count")
Sums = Counter[tuple[datetime, str, str]]
"""Totals by day, currency and column of `billing_days`."""


def store_event(event: port.ProviderEvent) -> bool:
    """Store an event and update the derived rows. Return whether it is new. Order and repetition do not matter."""
    if event.state is None:
        return False
    state = customer_matching.drop_unknown_user(event.state)
    customer = customer_matching.locked_customer(customer_of(state))
    if not _insert_event(event, state):
        return False
    match state:
        case port.SubscriptionState():
            _project_subscription(_known(type(state), state.provider_id), customer)
        case port.PaymentState():
            _project_payment(_known(type(state), state.provider_id), customer)
        case port.RefundState():
            _project_refund(_known(type(state), state.provider_id))
        case port.CustomerState():
            customer_matching.assign_owner(customer)
    db.session.flush()
    return True


def _insert_event(event: port.ProviderEvent, state: port.State) -> bool:
    values = {
        "id": event.id,
        "type": event.type,
        "entity_id": state.provider_id,
        "occurred_at": event.occurred_at,
        "email_key": _email_key(state.email) if isinstance(state, port.CustomerState) else None,
        "state": to_json(state),
        "received_at": utcnow_ms(),
    }
    statement = insert_or_ignore(db.engine.dialect.name, BillingEvent, values, unique=("id",))
    return db.session.scalar(statement.returning(BillingEvent.id)) is not None


def _email_key(address: str) -> str | None:
    """Return the key of an address, or None if it is not a valid address of a user."""
    try:
        return email_key(address)
    except InvalidEmail:
        return None


def _known(kind: type[S], provider_id: str) -> list[TimedState[S]]:
    rows = db.session.scalars(sa.select(BillingEvent).where(BillingEvent.entity_id == provider_id))
    return from_json(kind, [row for row in rows if row.type.startswith(PREFIXES[kind])])


def _project_subscription(states: list[TimedState[port.SubscriptionState]], customer: BillingCustomer) -> None:
    state = states[-1].state
    values = {
        **_owned(state, customer, customer_matching.existing_user(state.user_id)),
        "plan": state.plan,
        "status": state.status.value,
        "amount_minor": state.amount_minor,
        "currency": state.currency,
        "interval": state.interval,
        "frequency": state.frequency,
        "current_period_end": state.current_period_end,
        "cancel_at": state.cancel_at,
        "started_at": projection.started_at(states),
        "canceled_at": projection.canceled_at(states),
        "created_at": states[0].occurred_at,
    }
    row = _row(Subscription, state.provider_id)
    named_before = row.named_user_id if row is not None else None
    row = _write(Subscription, state.provider_id, values, row)
    _write_periods(row.id, projection.build_periods(states))
    if row.named_user_id != named_before:
        _project_payments_of(row, customer)


def _project_payments_of(subscription: Subscription, customer: BillingCustomer) -> None:
    """Assign the payments of a subscription to the user that it names. Payments may precede the subscription."""
    paid = sa.select(Order.provider_id).where(
        Order.customer_id == customer.id, Order.subscription_provider_id == subscription.provider_id
    )
    for provider_id in db.session.scalars(paid).all():
        _project_payment(_known(port.PaymentState, provider_id), customer)


def _write_periods(subscription_id: str, periods: list[Period]) -> None:
    new_rows = [_period_row(subscription_id, period) for period in periods]
    table = SubscriptionPeriod.__table__
    stored_periods = sa.select(table).where(table.c.subscription_id == subscription_id).order_by(table.c.valid_from)
    old_rows = [dict(row) for row in db.session.execute(stored_periods).mappings()]
    if old_rows == new_rows:
        return
    db.session.execute(sa.delete(SubscriptionPeriod).where(SubscriptionPeriod.subscription_id == subscription_id))
    db.session.execute(sa.insert(SubscriptionPeriod), new_rows)
    change(billed(old_rows), billed(new_rows))


def _period_row(subscription_id: str, period: Period) -> dict[str, object]:
    terms = period.terms
    return {
        "subscription_id": subscription_id,
        "valid_from": period.valid_from,
        "valid_to": period.valid_to,
        "status": terms.status.value,
        "plan": terms.plan,
        "amount_minor": terms.amount_minor,
        "currency": terms.currency,
        "interval": terms.interval,
        "frequency": terms.frequency,
        "monthly_millionths": terms.monthly_millionths,
    }


def _project_payment(states: list[TimedState[port.PaymentState]], customer: BillingCustomer) -> None:
    state = states[-1].state
    values = {
        **_owned(state, customer, customer_matching.existing_user(state.user_id) or _named_by(state.subscription_id)),
        "subscription_provider_id": state.subscription_id,
        "number": state.number,
        "status": state.status.value,
        "plan": state.plan,
        "amount_minor": state.amount_minor,
        "currency": state.currency,
        "period": state.period,
        "invoice_url": state.invoice_url,
        "completed_at": projection.completed_at(states),
        "created_at": states[0].occurred_at,
    }
    row = _row(Order, state.provider_id)
    before = taken(row, "completed_at", "revenue_minor")
    row = _write(Order, state.provider_id, values, row)
    change(before, taken(row, "completed_at", "revenue_minor"))


def _project_refund(states: list[TimedState[port.RefundState]]) -> None:
    state = states[-1].state
    values = {
        "order_provider_id": state.payment_id,
        "customer_id": customer_of(state),
        "amount_minor": state.amount_minor,
        "currency": state.currency,
        "approved_at": projection.approved_at(states),
    }
    row = _row(Refund, state.provider_id)
    before = taken(row, "approved_at", "refunds_minor")
    row = _write(Refund, state.provider_id, values, row)
    change(before, taken(row, "approved_at", "refunds_minor"))


def _owned(
    state: port.SubscriptionState | port.PaymentState, customer: BillingCustomer, named: str | None
) -> dict[str, str | None]:
    return {"customer_id": customer_of(state), "named_user_id": named, "user_id": named or customer.user_id}


def _named_by(subscription_id: str | None) -> str | None:
    """Return the user that a subscription names. Payments without a user belong to this user."""
    if subscription_id is None:
        return None
    return db.session.scalar(sa.select(Subscription.named_user_id).where(Subscription.provider_id == subscription_id))


def _row(table: type[T], provider_id: str) -> T | None:
    return db.session.scalar(sa.select(table).where(table.provider_id == provider_id))


def _write(table: type[T], provider_id: str, values: Mapping[str, object], row: T | None) -> T:
    if row is None:
        row = table(provider_id=provider_id)
        db.session.add(row)
    for name, value in values.items():
        setattr(row, name, value)
    db.session.flush()
    return row


def taken(row: Order | Refund | None, at: str, column: str) -> Sums:
    """Return the amount of an order or refund on the day of its time `at`. Empty without a row or time."""
    if row is None or getattr(row, at) is None:
        return Sums()
    return Sums({(_day(getattr(row, at)), row.currency, column): row.amount_minor})


def billed(periods: Iterable[Mapping[str, Any]]) -> Sums:
    """Return the changes of the monthly amounts by periods that start or end."""
    sums = Sums()
    for period in periods:
        monthly, currency = period["monthly_millionths"], period["currency"]
        for at, sign in ((period["valid_from"], 1), (period["valid_to"], -1)):
            if monthly and at is not None:
                sums[_day(at), currency, "billed_millionths"] += sign * monthly
                sums[_day(at), currency, "billed_count"] += sign
    return sums


def change(before: Sums, after: Sums) -> None:
    """Add the differences to the stored totals.

    The days have a fixed order, so that two transactions do not deadlock.
    """
    differences: dict[tuple[datetime, str], dict[str, int]] = defaultdict(dict)
    for day, currency, column in before.keys() | after.keys():
        difference = after[day, currency, column] - before[day, currency, column]
        if difference:
            differences[day, currency][column] = difference
    for (day, currency), more in sorted(differences.items()):
        values = {"day": day, "currency": currency, **dict.fromkeys(COLUMNS, 0), **more}
        changes = {column: getattr(BillingDay, column) + difference for column, difference in more.items()}
        statement = insert_or_update(
            db.engine.dialect.name, BillingDay, values, unique=("day", "currency"), changes=changes
        )
        db.session.execute(statement)


def _day(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
