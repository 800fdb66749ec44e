"""Tests that payment events give the same final state in every order and with repetitions."""

import math
import os
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.emails import email_key
from app.core.jobs import registry
from app.drivers.billing import port
from app.drivers.billing.none import NoBilling
from app.drivers.billing.paddle.values import read_event
from app.extensions import db
from app.models.order import BillingCustomer, BillingDay, BillingEvent, Order, Refund, Subscription, SubscriptionPeriod
from app.models.user import User
from app.resources.order.event_store import store_event
from app.resources.order.subscribers import end_subscriptions
from app.resources.user.events import email_verified
from tests.support.doubles.paddle import Paddle
from tests.support.doubles.paddle_data import (
    START,
    Entity,
    adjustment,
    customer,
    event,
    name,
    rfc3339,
    subscription,
    transaction,
)
from tests.support.payments import notify
from tests.support.world import World

pytestmark = pytest.mark.slow

TABLES = (BillingEvent, BillingCustomer, Subscription, SubscriptionPeriod, Order, Refund)
CURRENCY = "XTS"
"""ISO 4217 code for tests. No other test uses it."""
LONG = bool(os.environ.get("GALLEY_LONG"))
MADE_UP = {"id", "subscription_id", "created_at", "updated_at", "received_at"}


@pytest.fixture
def scratch(app: Flask) -> Iterator[None]:
    """A transaction that is rolled back."""
    with app.app_context():
        yield
        db.session.rollback()


def add_user(email: str, *, verified: bool = True) -> User:
    made = User(email=email, email_key=email_key(email), name="Payer", email_verified=verified)
    db.session.add(made)
    db.session.flush()
    return made


def rows_of(*ids: str) -> list[list[Any]]:
    """Return all rows of these customers without generated columns."""
    items = []
    for table in TABLES:
        columns = [column for column in table.__table__.columns if column.name not in MADE_UP]
        column = {BillingEvent: BillingEvent.entity_id, BillingCustomer: BillingCustomer.id}.get(table)
        if table is SubscriptionPeriod:
            condition = SubscriptionPeriod.subscription_id.in_(
                sa.select(Subscription.id).where(Subscription.customer_id.in_(ids))
            )
        else:
            condition = (table.customer_id if column is None else column).in_(ids)
        items.append(sorted(map(tuple, db.session.execute(sa.select(*columns).where(condition))), key=repr))
    sums = [BillingDay.revenue_minor, BillingDay.refunds_minor, BillingDay.billed_millionths, BillingDay.billed_count]
    days = db.session.execute(sa.select(BillingDay.day, *sums).where(BillingDay.currency == CURRENCY))
    return [*items, sorted(tuple(row) for row in days if any(row[1:]))]


def six_events(email: str) -> tuple[str, list[Entity]]:
    """Return a customer id and six events: customer, trial, activation on another plan, payment, end, refund."""
    who = customer(email)
    sub = subscription(1900, plan="Starter", status="trialing", customer_id=who["id"], currency=CURRENCY)
    day = timedelta(days=1)
    active = sub | {"status": "active", "items": subscription(2900, plan="Pro")["items"]}
    ended = active | {"status": "canceled", "canceled_at": rfc3339(START + 40 * day)}
    paid = transaction(2900, of=sub, at=START + 14 * day, currency=CURRENCY)
    return who["id"], [
        event("customer.created", who, START),
        event("subscription.created", sub, START),
        event("subscription.activated", active, START + 14 * day),
        event("transaction.completed", paid, START + 14 * day),
        event("subscription.canceled", ended, START + 40 * day),
        event("adjustment.updated", adjustment(paid, 2900), START + 41 * day),
    ]


@pytest.mark.usefixtures("scratch")
class TestStoreEvent:
    def test_every_order_of_six_repeated_events_has_one_final_state(self, store: str):
        """Store 24 orders after the first two events and 24 after the last two. `GALLEY_LONG=1` stores all 720 on SQLite."""
        owner = add_user(f"{name('p')}@mail.example.org")
        customer_id, payloads = six_events(owner.email)
        finals: Counter[str] = Counter()
        events = [read_event(payload) for payload in payloads]
        starts = [[]] if LONG and store.startswith("sqlite") else [events[:2], events[:3:-1]]
        for start in starts:
            savepoint = db.session.begin_nested()
            for provider_event in start:
                store_event(provider_event)
            self.store_permutations([each for each in events if each not in start], customer_id, finals)
            savepoint.rollback()
        ((final, times),) = finals.items()
        assert times == sum(math.factorial(len(events) - len(start)) for start in starts)
        assert owner.id in final

    def store_permutations(self, remaining: list[port.ProviderEvent], customer_id: str, finals: Counter[str]) -> None:
        """Store each remaining event twice, recurse, and count the final states."""
        if not remaining:
            finals[repr(rows_of(customer_id))] += 1
        for one in remaining:
            savepoint = db.session.begin_nested()
            assert store_event(one)
            assert not store_event(one)
            self.store_permutations([other for other in remaining if other is not one], customer_id, finals)
            savepoint.rollback()

    def test_six_events_are_stored_as_subscription_periods_payment_and_refund(self):
        owner = add_user(f"{name('p')}@mail.example.org")
        customer_id, payloads = six_events(owner.email)
        for payload in payloads:
            store_event(read_event(payload))
        sub = db.session.scalars(sa.select(Subscription).where(Subscription.customer_id == customer_id)).one()
        assert (sub.user_id, sub.status, sub.plan, sub.amount_minor) == (owner.id, "canceled", "Pro", 2900)
        assert (sub.started_at, sub.canceled_at) == (START, START + timedelta(40))
        periods = db.session.scalars(
            sa.select(SubscriptionPeriod).where(SubscriptionPeriod.subscription_id == sub.id).order_by("valid_from")
        )
        assert [(one.status, one.plan, one.monthly_millionths, one.valid_from, one.valid_to) for one in periods] == [
            ("trialing", "Starter", 0, START, START + timedelta(14)),
            ("active", "Pro", 2_900_000_000, START + timedelta(14), START + timedelta(40)),
            ("canceled", "Pro", 0, START + timedelta(40), None),
        ]
        assert rows_of(customer_id)[-1] == [
            (START + timedelta(14), 2900, 0, 2_900_000_000, 1),
            (START + timedelta(40), 0, 0, -2_900_000_000, -1),
            (START + timedelta(41), 0, 2900, 0, 0),
        ]
        paid = db.session.scalars(sa.select(Order).where(Order.customer_id == customer_id)).one()
        back = db.session.scalars(sa.select(Refund).where(Refund.customer_id == customer_id)).one()
        assert (paid.user_id, paid.status, paid.completed_at) == (owner.id, "completed", START + timedelta(14))
        assert (back.order_provider_id, back.amount_minor, back.approved_at) == (
            paid.provider_id, 2900, START + timedelta(41),
        )  # fmt: skip

    def test_older_payment_failure_does_not_replace_the_payment(self):
        paid = transaction()
        store_event(read_event(event("transaction.completed", paid, START + timedelta(1))))
        store_event(read_event(event("transaction.payment_failed", paid, START)))
        row = db.session.scalars(sa.select(Order).where(Order.provider_id == paid["id"])).one()
        assert (row.status, row.completed_at) == ("completed", START)

    def test_refund_counts_from_its_approval_until_its_reversal(self):
        paid = transaction()
        back = adjustment(paid, 100, status="pending_approval")
        told = [("created", "pending_approval", 0), ("updated", "approved", 2), ("updated", "approved", 3)]
        for what, status, days in told:
            store_event(read_event(event(f"adjustment.{what}", back | {"status": status}, START + timedelta(days))))
        row = db.session.get_one(Refund, back["id"])
        assert row.approved_at == START + timedelta(2)
        store_event(read_event(event("adjustment.updated", back | {"status": "reversed"}, START + timedelta(4))))
        assert row.approved_at is None


@pytest.mark.usefixtures("scratch")
class TestOwner:
    def owner_of(self, provider_id: str) -> str | None:
        db.session.expire_all()
        return db.session.scalars(sa.select(Subscription.user_id).where(Subscription.provider_id == provider_id)).one()

    def test_owner_is_the_user_of_the_checkout(self):
        named, mailed = add_user(f"{name('p')}@mail.example.org"), add_user(f"{name('p')}@mail.example.org")
        who = customer(mailed.email)
        data = subscription(user_id=named.id, customer_id=who["id"])
        store_event(read_event(event("subscription.created", data)))
        store_event(read_event(event("customer.created", who)))
        assert self.owner_of(data["id"]) == named.id

    @pytest.mark.parametrize("payment_first", [False, True])
    def test_owner_of_a_payment_without_user_is_the_owner_of_its_subscription(self, payment_first: bool):
        named, other = add_user(f"{name('p')}@mail.example.org"), add_user(f"{name('p')}@mail.example.org")
        who = customer(other.email)
        data = subscription(user_id=named.id, customer_id=who["id"])
        paid, apart = transaction(of=data), transaction(of=data, user_id=other.id)
        events = [
            event("customer.created", who),
            event("subscription.created", data),
            event("transaction.completed", paid),
            event("transaction.completed", apart),
        ]
        for told in reversed(events) if payment_first else events:
            store_event(read_event(told))
        statement = sa.select(Order).where(Order.subscription_provider_id == data["id"])
        owners = {order.provider_id: order.user_id for order in db.session.scalars(statement)}
        assert owners == {paid["id"]: named.id, apart["id"]: other.id}

    def test_owner_without_a_known_user_is_the_verified_user_of_the_email(self):
        mailed = add_user(f"{name('p')}@mail.example.org")
        who = customer(mailed.email.upper())
        data = subscription(user_id="usr_nobody", customer_id=who["id"])
        store_event(read_event(event("subscription.created", data)))
        assert self.owner_of(data["id"]) is None
        store_event(read_event(event("customer.created", who)))
        assert self.owner_of(data["id"]) == mailed.id

    def test_owner_is_set_when_the_user_verifies_the_email(self):
        mailed = add_user(f"{name('p')}@mail.example.org", verified=False)
        who = customer(mailed.email)
        data = subscription(customer_id=who["id"])
        paid = transaction(of=data)
        for kind, entity in (
            ("customer.created", who),
            ("subscription.created", data),
            ("transaction.completed", paid),
        ):
            store_event(read_event(event(kind, entity)))
        assert self.owner_of(data["id"]) is None
        mailed.email_verified = True
        email_verified.publish(mailed)
        assert self.owner_of(data["id"]) == mailed.id
        assert db.session.scalars(sa.select(Order.user_id).where(Order.provider_id == paid["id"])).one() == mailed.id

    def test_changed_email_without_a_user_leaves_the_owner(self):
        mailed = add_user(f"{name('p')}@mail.example.org")
        who = customer(mailed.email)
        data = subscription(customer_id=who["id"])
        store_event(read_event(event("subscription.created", data)))
        store_event(
            read_event(event("customer.updated", who | {"email": "new@mail.example.org"}, START + timedelta(1)))
        )
        store_event(read_event(event("customer.created", who, START)))
        assert self.owner_of(data["id"]) == mailed.id

    def test_invalid_email_of_a_customer_is_stored(self):
        assert store_event(read_event(event("customer.created", customer("not an address"))))


class TestDeletedAccount:
    def test_end_of_an_unknown_subscription_succeeds(self) -> None:
        registry["billing.end"].run(provider_id="sub_1", billing=NoBilling())

    def test_active_subscription_is_canceled_at_the_provider(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data, ended = subscription(user_id=me.id), subscription(user_id=me.id, status="canceled")
        paddle.add(data, ended)
        for one in (data, ended):
            notify(world, event("subscription.created", one)).ok()
        with world.app.app_context():
            end_subscriptions(db.session.get_one(User, me.id))
            db.session.commit()
        world.work_off()
        assert paddle.kept["subscriptions"][data["id"]]["status"] == "canceled"
        assert paddle.calls(f"POST /subscriptions/{ended['id']}") == []
        with world.app.app_context():
            row = db.session.scalars(sa.select(Subscription).where(Subscription.provider_id == data["id"])).one()
            assert row.status == "canceled"
