"""Tests of the nightly reconciliation with the provider."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from app.core.jobs import registry
from app.drivers.errors import UpstreamError
from app.extensions import db, drivers
from app.models.order import Order, Subscription
from app.resources.order.reconciliation import ReconciliationResult, reconcile
from tests.support.doubles.paddle import Paddle
from tests.support.doubles.paddle_data import adjustment, customer, event, rfc3339, subscription, transaction
from tests.support.doubles.server import Fault, Reply
from tests.support.payments import notify
from tests.support.world import World

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def empty(paddle: Paddle) -> None:
    """Remove all entities of Paddle before the test."""
    for kept in paddle.kept.values():
        kept.clear()


def run(world: World) -> ReconciliationResult:
    with world.app.app_context():
        return reconcile(drivers.billing)


class TestReconcile:
    def test_missed_events_are_stored_once(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscription(user_id=me.id, started_at=NOW - 3 * DAY)
        billing_event = event("subscription.created", data, NOW - 3 * DAY)
        ended = data | {"status": "canceled", "canceled_at": rfc3339(NOW - DAY)}
        missed = event("subscription.canceled", ended, NOW - DAY)
        notify(world, billing_event).ok()
        paddle.add(billing_event, missed, event("product.created", {"id": "pro_1"}, NOW - DAY))
        assert run(world) == ReconciliationResult(examined=3, stored=1)
        assert run(world) == ReconciliationResult(examined=3, stored=0)
        assert me.get(f"/order/{me.id}").ok()["subscriptions"][0]["status"] == "canceled"

    def test_delivery_after_the_reconciliation_changes_no_data(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        missed = event("subscription.created", subscription(user_id=me.id), NOW - DAY)
        paddle.add(missed)
        run(world)
        before = me.get(f"/order/{me.id}").ok()
        notify(world, missed).ok()
        assert me.get(f"/order/{me.id}").ok() == before

    def test_entities_older_than_the_event_list_are_imported(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        who = customer(me.email)
        data = subscription(customer_id=who["id"], started_at=NOW - 400 * DAY)
        paid = transaction(of=data, at=NOW - 2 * DAY)
        back = adjustment(paid, 2900)
        paddle.add(who, data, paid, back)
        assert run(world).stored == 4
        assert run(world).stored == 0
        result = me.get(f"/order/{me.id}").ok()
        assert (result["active_package"], result["orders"][0]["status"]) == ("Pro", "refunded")

    def test_equal_state_with_a_newer_timestamp_is_not_stored(self, world: World, paddle: Paddle) -> None:
        data = subscription(started_at=NOW - 10 * DAY)
        notify(world, event("subscription.created", data, NOW - 10 * DAY)).ok()
        data["updated_at"] = rfc3339(NOW - DAY)
        paddle.add(data)
        assert run(world).stored == 0

    def test_newer_state_is_stored_and_older_state_is_not(self, world: World, paddle: Paddle) -> None:
        data = subscription(started_at=NOW - 10 * DAY)
        notify(world, event("subscription.created", data, NOW - 5 * DAY)).ok()
        paddle.add(data | {"status": "paused", "updated_at": rfc3339(NOW - 6 * DAY)})
        assert run(world).stored == 0
        paddle.add(data | {"status": "paused", "updated_at": rfc3339(NOW - 4 * DAY)})
        assert run(world).stored == 1
        with world.app.app_context():
            statement = sa.select(Subscription.status).where(Subscription.provider_id == data["id"])
            assert db.session.scalars(statement).one() == "paused"

    def test_events_stored_before_a_failure_are_committed(self, world: World, paddle: Paddle) -> None:
        data = transaction(at=NOW - DAY)
        paddle.add(event("transaction.completed", data, NOW - DAY))
        paddle.faults.append(Fault("GET /customers", reply=Reply(403)))
        with pytest.raises(UpstreamError):
            run(world)
        with world.app.app_context():
            statement = sa.select(Order.status).where(Order.provider_id == data["id"])
            assert db.session.scalars(statement).one() == "completed"

    def test_reconciliation_is_a_daily_job(self, world: World) -> None:
        declared = registry["billing.reconcile"]
        assert (declared.every, declared.uses) == (DAY, ("billing",))
        with world.app.app_context():
            declared.run(billing=drivers.billing)
