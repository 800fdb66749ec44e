"""Tests of the routes of orders and subscriptions."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa
import structlog

from app.extensions import db
from app.models.order import PreOrder, Subscription
from tests.support.doubles.paddle import Paddle
from tests.support.doubles.paddle_data import START, Entity, adjustment, event, rfc3339, subscription, transaction
from tests.support.doubles.server import Fault, Reply
from tests.support.parallel import together
from tests.support.payments import TOKEN, notify
from tests.support.world import Person, World


def subscribe(world: World, paddle: Paddle, person: Person, **more: object) -> Entity:
    """Create a subscription in Paddle and deliver its event."""
    data = subscription(user_id=person.id, **more)
    paddle.add(data)
    notify(world, event("subscription.created", data, START)).ok()
    return data


class TestHistory:
    def test_history_contains_orders_and_subscriptions(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        paid = [
            transaction(2900 + month, of=data, user_id=me.id, at=START + timedelta(days=31 * month)) for month in (0, 1)
        ]
        for one in paid:
            notify(world, event("transaction.completed", one, START)).ok()
        result = me.get(f"/order/{me.id}").ok()
        (shown,) = result["subscriptions"]
        assert shown.pop("subscription_id").startswith("sub_")
        assert shown == {
            "provider_subscription_id": data["id"], "plan": "Pro", "status": "active", "amount": 2900,
            "currency": "USD", "interval": "month", "frequency": 1, "current_period_end": "2026-02-01T00:00:00.000Z",
            "cancel_at": None, "createdAt": "2026-01-01T00:00:00.000Z",
        }  # fmt: skip
        assert result["active_package"] == "Pro"
        assert {order["number"] for order in result["orders"]} == {one["invoice_number"] for one in paid}
        first = next(order for order in result["orders"] if order["amount"] == 2900)
        assert first.pop("order_id").startswith("ord_")
        assert first == {
            "number": paid[0]["invoice_number"], "status": "completed", "plan": "Pro", "amount": 2900,
            "currency": "USD", "period": "2026-01-01/2026-02-01", "invoice_url": None,
            "createdAt": "2026-01-01T00:00:00.000Z",
        }  # fmt: skip

    @pytest.mark.parametrize(("back", "status"), [(2900, "refunded"), (900, "partially_refunded")])
    def test_refunded_order_has_the_refund_status(self, world: World, back: int, status: str) -> None:
        me = world.person()
        paid = transaction(2900, user_id=me.id)
        notify(world, event("adjustment.created", adjustment(paid, back))).ok()
        notify(world, event("transaction.completed", paid)).ok()
        assert [one["status"] for one in me.get(f"/order/{me.id}").ok()["orders"]] == [status]

    def test_history_without_payments_is_empty(self, world: World) -> None:
        me = world.person()
        assert me.get(f"/order/{me.id}").ok() == {"orders": [], "subscriptions": [], "active_package": None}

    def test_ended_subscription_is_not_the_active_package(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        notify(world, event("subscription.canceled", data | {"status": "canceled"}, START + timedelta(1))).ok()
        result = me.get(f"/order/{me.id}").ok()
        assert result["active_package"] is None
        assert [one["status"] for one in result["subscriptions"]] == ["canceled"]

    def test_history_of_another_user_returns_403_except_for_platform_admins(self, world: World) -> None:
        me, stranger, admin = world.person(), world.person(), world.person(admin=True)
        stranger.get(f"/order/{me.id}").fails(403)
        world.anonymous().get(f"/order/{me.id}").fails(401)
        world.person(verified=False).get(f"/order/{me.id}").fails(403)
        admin.get("/order/usr_nobody").fails(404)
        with structlog.testing.capture_logs() as logs:
            admin.get(f"/order/{me.id}").ok()
        (line,) = [line for line in logs if line["event"] == "order.read_by_admin"]
        assert (line["user_id"], line["admin_id"]) == (me.id, admin.id)


class TestCancel:
    def test_cancel_ends_the_subscription_with_its_period(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        shown = me.post("/order/cancel", {"subscription_id": data["id"]}).ok()
        assert (shown["status"], shown["cancel_at"]) == ("active", "2026-02-01T00:00:00.000Z")
        assert me.get(f"/order/{me.id}").ok()["subscriptions"] == [shown]
        assert (data["id"], "next_billing_period") in paddle.cancellations

    def test_cancel_immediately_ends_the_subscription_once(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        own_id = me.get(f"/order/{me.id}").ok()["subscriptions"][0]["subscription_id"]
        body = {"subscription_id": own_id, "effective_from": "immediately", "reason": "No longer needed"}
        assert me.post("/order/cancel", body).ok()["status"] == "canceled"
        me.post("/order/cancel", body).fails(409, "SUBSCRIPTION_ENDED")
        assert [done for done in paddle.cancellations if done[0] == data["id"]] == [(data["id"], "immediately")]

    def test_scheduled_cancellation_can_be_made_immediate(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        body = {"subscription_id": subscribe(world, paddle, me)["id"]}
        me.post("/order/cancel", body).ok()
        shown = me.post("/order/cancel", body | {"effective_from": "immediately"}).ok()
        assert (shown["status"], shown["cancel_at"]) == ("canceled", None)

    @pytest.mark.parametrize("effective_from", ["next_billing_period", "immediately"])
    def test_parallel_calls_have_one_effect(self, world: World, paddle: Paddle, effective_from: str) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        body = {"subscription_id": data["id"], "effective_from": effective_from}
        paddle.faults.append(Fault("POST .*/cancel", delay_s=0.5))
        shown = [
            response.ok() for response in together([partial(me.again().post, "/order/cancel", body) for _ in range(6)])
        ]
        assert all(one == shown[0] for one in shown)
        assert len(shown) == 6
        assert len(paddle.calls(f"POST /subscriptions/{data['id']}/cancel")) == 1

    def test_lost_response_has_one_effect(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        paddle.faults.append(Fault("POST .*/cancel", lose=True))
        assert me.post("/order/cancel", {"subscription_id": data["id"]}).ok()["cancel_at"] is not None
        assert me.post("/order/cancel", {"subscription_id": data["id"]}).ok()["cancel_at"] is not None
        assert len(paddle.calls(f"POST /subscriptions/{data['id']}/cancel")) == 1

    def test_cancellation_of_a_killed_process_is_read_from_the_provider(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        data["scheduled_change"] = {"action": "cancel", "effective_at": rfc3339(START + timedelta(31))}
        data["updated_at"] = rfc3339(START + timedelta(1))
        with world.app.app_context():
            row = db.session.scalars(sa.select(Subscription).where(Subscription.provider_id == data["id"])).one()
            row.canceling_until = datetime.now(UTC) - timedelta(seconds=1)
            db.session.commit()
        assert me.post("/order/cancel", {"subscription_id": data["id"]}).ok()["cancel_at"] is not None
        assert paddle.calls(f"POST /subscriptions/{data['id']}/cancel") == []

    def test_failed_call_can_be_repeated(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        paddle.faults.append(Fault("GET /subscriptions/sub", reply=Reply(403)))
        me.post("/order/cancel", {"subscription_id": data["id"]}).fails(502)
        me.post("/order/cancel", {"subscription_id": data["id"]}).ok()

    @pytest.mark.one_database
    def test_rejection_of_the_provider_returns_422(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        said = {"error": {"type": "request_error", "code": "subscription_not_active"}}
        paddle.faults.append(Fault("POST .*/cancel", reply=Reply(400, said)))
        me.post("/order/cancel", {"subscription_id": data["id"]}).fails(422, "BILLING_REFUSED")

    @pytest.mark.one_database
    def test_cancel_by_another_user_returns_404(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        body = {"subscription_id": subscribe(world, paddle, me)["id"]}
        world.anonymous().post("/order/cancel", body).fails(401)
        world.person(verified=False).post("/order/cancel", body).fails(403, "EMAIL_NOT_VERIFIED")
        world.person().post("/order/cancel", body).fails(404)
        world.person(admin=True).post("/order/cancel", body).fails(404)
        assert all(done[0] != body["subscription_id"] for done in paddle.cancellations)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({}, "subscription_id"),
            ({"subscription_id": "12"}, "subscription_id"),
            ({"subscription_id": 12}, "subscription_id"),
            ({"subscription_id": "sub_1", "effective_from": "yesterday"}, "effective_from"),
            ({"subscription_id": "sub_1", "reason": "x" * 1001}, "reason"),
        ],
    )
    def test_invalid_body_returns_400_with_path(self, world: World, body: object, path: str) -> None:
        world.person().post("/order/cancel", body).fails(400, None, path)

    @pytest.mark.one_database
    def test_subscription_unknown_to_the_provider_returns_404(self, world: World) -> None:
        me = world.person()
        data = subscription(user_id=me.id)
        notify(world, event("subscription.created", data)).ok()
        me.post("/order/cancel", {"subscription_id": data["id"]}).fails(404)


class TestUpdatePaymentMethod:
    def test_update_payment_method_returns_a_checkout(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        result = me.get(f"/order/update-payment-method/{data['id']}").ok()
        assert result["checkout_url"] == f"https://pay.example.org/?_ptxn={result['transaction_id']}"
        assert result["client_token"] == TOKEN

    @pytest.mark.one_database
    def test_request_of_another_user_returns_404(self, world: World, paddle: Paddle) -> None:
        data = subscribe(world, paddle, world.person())
        path = f"/order/update-payment-method/{data['id']}"
        world.anonymous().get(path).fails(401)
        world.person(verified=False).get(path).fails(403)
        world.person(admin=True).get(path).fails(404)
        world.person().get("/order/update-payment-method/nonsense").fails(404)

    def test_unavailable_provider_returns_503_with_retry_after(self, world: World, paddle: Paddle) -> None:
        me = world.person()
        data = subscribe(world, paddle, me)
        paddle.faults.append(Fault("GET /subscriptions", reply=Reply(429, None, {"Retry-After": "900"})))
        response = me.get(f"/order/update-payment-method/{data['id']}")
        response.fails(503)
        assert response.headers["Retry-After"] == "900"


class TestPreOrder:
    def test_pre_order_is_stored_with_the_caller(self, world: World) -> None:
        me = world.person()
        body = {
            "plan": "Pro", "email": "me@mail.example.org", "billing_period": "year", "country": "Germany",
            "source": "pricing", "user_id": "usr_another", "price": 1,
        }  # fmt: skip
        created = me.post("/order/pre-order", body).ok(201)
        with world.app.app_context():
            row = db.session.get_one(PreOrder, created["pre_order_id"])
            found = (row.user_id, row.plan, row.email, row.billing_period, row.country, row.source)
        assert found == (me.id, "Pro", "me@mail.example.org", "year", "DE", "pricing")

    def test_plan_is_required_and_other_fields_are_optional(self, world: World) -> None:
        me = world.person()
        me.post("/order/pre-order", {"plan": "Pro"}).ok(201)
        me.post("/order/pre-order", {"plan": " "}).fails(400, None, "plan")
        me.post("/order/pre-order", {"plan": "Pro", "email": "x", "country": "ZZ"}).fails(400, None, "email", "country")
        world.anonymous().post("/order/pre-order", {"plan": "Pro"}).fails(401)
        world.person(verified=False).post("/order/pre-order", {"plan": "Pro"}).fails(403)


class TestSummary:
    def test_summary_requires_a_platform_admin(self, world: World) -> None:
        owner, admin = world.person(), world.person(admin=True)
        owner.new_organization()
        owner.get("/order/summary").fails(403)
        world.anonymous().get("/order/summary").fails(401)
        result = admin.get("/order/summary").ok()
        today = datetime.now(UTC).date()
        assert result["to"] == today.isoformat()
        assert result["from"][:4] == str(today.year - 1)

    def test_summary_contains_the_figures_of_each_month(self, world: World, paddle: Paddle) -> None:
        me, admin = world.person(), world.person(admin=True)
        data = subscribe(world, paddle, me, amount=1200, currency="ISK", cycle={"interval": "year", "frequency": 1})
        paid = transaction(1200, of=data, currency="ISK")
        notify(world, event("transaction.completed", paid)).ok()
        notify(world, event("adjustment.created", adjustment(paid, 200), START + timedelta(days=40))).ok()
        result = admin.get("/order/summary?from=2026-01-01&to=2026-02-28&currency=ISK").ok()
        assert result["currencies"]["ISK"] == {
            "mrr": 100, "arr": 1200, "revenue": 1200, "refunds": 200, "net_revenue": 1000, "arpu": 100, "active": 1,
            "by_plan": [{"plan": "Pro", "mrr": 100, "active": 1}],
            "by_month": [
                {"month": "2026-01", "revenue": 1200, "refunds": 0, "mrr": 100},
                {"month": "2026-02", "revenue": 0, "refunds": 200, "mrr": 100},
            ],
        }  # fmt: skip
        assert (result["active_subscriptions"], result["new_subscriptions"], result["churn_rate"]) == (1, 1, 0.0)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ("from=yesterday", "from"),
            ("from=2026-02-01&to=2026-01-01", "from"),
            ("from=2001-01-01&to=2026-01-01", "from"),
            ("from=9999-01-01", "from"),
            ("to=0001-01-01", "to"),
            ("currency=usd", "currency"),
        ],
    )
    def test_invalid_query_returns_400_with_path(self, world: World, query: str, path: str) -> None:
        world.person(admin=True).get(f"/order/summary?{query}").fails(400, None, path)
