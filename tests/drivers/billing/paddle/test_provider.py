"""Tests of the Paddle driver with a double: requests, parsed events and failures."""

import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from paddle_billing.Resources.Subscriptions.Operations.ListSubscriptions import ListSubscriptions

from app.core.limits import OutboundLimits
from app.drivers.billing.paddle.provider import PaddleBilling
from app.drivers.billing.paddle.transport import PaddleCalls
from app.drivers.billing.port import (
    CustomerState,
    InvalidSignature,
    MalformedEvent,
    PaymentState,
    PaymentStatus,
    RefundState,
    SubscriptionState,
    SubscriptionStatus,
    UnknownSubscription,
)
from app.drivers.errors import (
    DriverError,
    UpstreamError,
    UpstreamRejected,
    UpstreamThrottled,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.drivers.http.client import HttpClient
from tests.support.doubles.paddle import KEY, Paddle
from tests.support.doubles.paddle_data import (
    START,
    adjustment,
    customer,
    event,
    rfc3339,
    signature,
    subscription,
    transaction,
)
from tests.support.doubles.server import Fault, Reply

SECRETS = ("the-new-secret", "the-old-secret")
NOW = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
HURRIED = dataclasses.replace(
    OutboundLimits(), connect_timeout_s=0.3, read_timeout_s=0.3, deadline_s=2, backoff_base_s=0.01
)


@pytest.fixture
def paddle() -> Iterator[Paddle]:
    double = Paddle()
    yield double
    double.close()


@pytest.fixture
def billing(paddle: Paddle) -> PaddleBilling:
    return PaddleBilling(paddle.url, KEY, webhook_secrets=SECRETS, limits=HURRIED)


def parse(billing: PaddleBilling, payload: object, *, secret: str = SECRETS[0], at: datetime = NOW):
    body = json.dumps(payload).encode()
    return billing.parse_notification(signature(body, secret, at), body, NOW)


class TestNotification:
    def test_subscription_event_has_the_state_of_the_subscription(self, billing: PaddleBilling):
        data = subscription(2900, plan="Pro", user_id="usr_1", cycle={"interval": "year", "frequency": 2})
        data["items"].append(data["items"][0] | {"quantity": 3})
        data["scheduled_change"] = {"action": "cancel", "effective_at": "2026-02-01T00:00:00.123456789Z"}
        read = parse(billing, event("subscription.updated", data, START + timedelta(seconds=1)))
        assert (read.type, read.occurred_at) == ("subscription.updated", START + timedelta(seconds=1))
        assert read.state == SubscriptionState(
            data["id"], data["customer_id"], "usr_1", SubscriptionStatus.ACTIVE, "Pro", 4 * 2900, "USD", "year", 2,
            started_at=START, current_period_end=START + timedelta(31),
            cancel_at=datetime(2026, 2, 1, 0, 0, 0, 123_456, tzinfo=UTC), canceled_at=None,
        )  # fmt: skip

    def test_plan_is_that_of_the_price_and_not_of_the_checkout(self, billing: PaddleBilling):
        data = subscription(plan="Pro")
        data["custom_data"] = {"plan": "Enterprise"}
        assert parse(billing, event("subscription.created", data)).state.plan == "Pro"
        data["items"][0]["price"]["custom_data"] = {"plan": "pro-2026"}
        assert parse(billing, event("subscription.created", data)).state.plan == "pro-2026"

    def test_completed_transaction_is_a_completed_payment(self, billing: PaddleBilling):
        data = transaction(5800, of=subscription(), at=START)
        read = parse(billing, event("transaction.completed", data, START + timedelta(minutes=1)))
        assert read.state == PaymentState(
            data["id"], data["customer_id"], None, data["subscription_id"], PaymentStatus.COMPLETED,
            data["invoice_number"], "Pro", 5800, "USD", "2026-01-01/2026-02-01", None, completed_at=START,
        )  # fmt: skip

    def test_failed_payment_has_no_completion_time(self, billing: PaddleBilling):
        read = parse(billing, event("transaction.payment_failed", transaction(status="past_due")))
        assert (read.state.status, read.state.completed_at) == (PaymentStatus.FAILED, None)

    def test_payment_method_change_has_no_state(self, billing: PaddleBilling):
        data = transaction(0, origin="subscription_payment_method_change")
        assert parse(billing, event("transaction.completed", data)).state is None

    @pytest.mark.parametrize(
        ("action", "status", "amount", "counts"),
        [
            ("refund", "approved", 500, True),
            ("refund", "pending_approval", 500, False),
            ("refund", "rejected", 500, False),
            ("chargeback", "approved", 500, True),
            ("chargeback_reverse", "approved", -500, True),
            ("chargeback_warning", "approved", 500, False),
        ],
    )
    def test_adjustment_is_a_refund_with_its_amount(
        self, billing: PaddleBilling, action: str, status: str, amount: int, counts: bool
    ):
        paid = transaction()
        data = adjustment(paid, 500, action=action, status=status)
        read = parse(billing, event("adjustment.created", data)).state
        assert read == RefundState(data["id"], paid["customer_id"], paid["id"], amount, "USD", counts)

    def test_customer_event_has_email_and_user_id(self, billing: PaddleBilling):
        data = customer("a@mail.example.org", custom_data={"user_id": "usr_1"})
        read = parse(billing, event("customer.updated", data))
        assert read.state == CustomerState(data["id"], "a@mail.example.org", "usr_1")

    def test_other_events_have_no_state(self, billing: PaddleBilling):
        assert parse(billing, event("product.updated", {"id": "pro_1"})).state is None
        assert parse(billing, event("transaction.created", {"id": "txn_1"})).state is None

    @pytest.mark.parametrize(
        "payload",
        [
            [],
            {},
            {"event_id": 1, "event_type": "customer.created", "occurred_at": "2026-01-01T00:00:00Z", "data": {}},
            event("customer.created", {"id": "ctm_1"}),
            event("subscription.created", subscription(status="unheard-of")),
            event("subscription.created", subscription(items=[])),
            event("subscription.created", subscription(cycle={"interval": "century", "frequency": 1})),
            event("subscription.created", subscription(currency="dollars")),
            event("subscription.created", subscription(10**15)),
            event("subscription.created", subscription(-1)),
            event("transaction.completed", transaction() | {"details": None}),
            event("adjustment.created", adjustment(transaction(), 1) | {"totals": {"total": "1.50"}}),
            event("customer.created", customer("a@mail.example.org")) | {"occurred_at": "yesterday"},
        ],
    )
    def test_malformed_payload_raises_malformed_event(self, billing: PaddleBilling, payload: object):
        with pytest.raises(MalformedEvent):
            parse(billing, payload)


class TestSignature:
    BODY = json.dumps(event("product.updated", {"id": "pro_1"})).encode()

    @pytest.mark.parametrize("secret", SECRETS)
    def test_signature_of_each_live_secret_is_accepted(self, billing: PaddleBilling, secret: str):
        billing.parse_notification(signature(self.BODY, secret, NOW), self.BODY, NOW)

    def test_header_with_one_valid_signature_is_accepted(self, billing: PaddleBilling):
        wrong, right = signature(self.BODY, "other", NOW), signature(self.BODY, SECRETS[1], NOW)
        billing.parse_notification(f"{wrong};{right.split(';')[1]}", self.BODY, NOW)

    @pytest.mark.parametrize("seconds", [-300, 300])
    def test_timestamp_within_five_minutes_is_accepted(self, billing: PaddleBilling, seconds: int):
        at = NOW + timedelta(seconds=seconds)
        billing.parse_notification(signature(self.BODY, SECRETS[0], at), self.BODY, NOW)

    @pytest.mark.parametrize("seconds", [-301, 301])
    def test_timestamp_beyond_five_minutes_raises_invalid_signature(self, billing: PaddleBilling, seconds: int):
        at = NOW + timedelta(seconds=seconds)
        with pytest.raises(InvalidSignature):
            billing.parse_notification(signature(self.BODY, SECRETS[0], at), self.BODY, NOW)

    @pytest.mark.parametrize(
        "header",
        [
            None, "", "ts=;h1=", "h1=ab", "ts=1", "ts=x;h1=ab", "ts=²;h1=ab", f"ts={'9' * 400};h1=ab", "nonsense",
            "ts=1;ts=1;h1=ab", ";" * 5000, "ts=1;h1=é",
        ],
    )  # fmt: skip
    def test_malformed_header_raises_invalid_signature(self, billing: PaddleBilling, header: str | None):
        with pytest.raises(InvalidSignature):
            billing.parse_notification(header, self.BODY, NOW)

    def test_changed_byte_or_second_raises_invalid_signature(self, billing: PaddleBilling):
        good = signature(self.BODY, SECRETS[0], NOW)
        for place in range(0, len(self.BODY), 7):
            changed = bytearray(self.BODY)
            changed[place] ^= 1
            with pytest.raises(InvalidSignature):
                billing.parse_notification(good, bytes(changed), NOW)
        with pytest.raises(InvalidSignature):
            billing.parse_notification(
                good.replace(f"ts={int(NOW.timestamp())}", f"ts={int(NOW.timestamp()) + 1}"), self.BODY, NOW
            )

    @pytest.mark.parametrize("secrets", [(), ("",)])
    def test_notification_without_a_secret_raises_invalid_signature(self, paddle: Paddle, secrets: tuple[str, ...]):
        billing = PaddleBilling(paddle.url, KEY, webhook_secrets=secrets)
        with pytest.raises(InvalidSignature):
            billing.parse_notification(signature(self.BODY, "", NOW), self.BODY, NOW)


class TestCancel:
    @pytest.mark.parametrize(
        ("immediately", "word", "status"), [(False, "next_billing_period", "active"), (True, "immediately", "canceled")]
    )
    def test_cancel_takes_effect_at_the_requested_time(
        self, paddle: Paddle, billing: PaddleBilling, immediately: bool, word: str, status: str
    ):
        data = subscription()
        paddle.add(data)
        read = billing.cancel(data["id"], immediately=immediately)
        assert paddle.cancellations == [(data["id"], word)]
        assert read.state.status == status
        assert (read.state.cancel_at is not None) == (not immediately)
        assert read.occurred_at > datetime.now(UTC) - timedelta(seconds=5)

    def test_cancel_of_a_canceled_subscription_sends_no_second_request(self, paddle: Paddle, billing: PaddleBilling):
        data = subscription()
        paddle.add(data)
        for _ in range(3):
            assert billing.cancel(data["id"], immediately=False).state.cancel_at is not None
        assert len(paddle.calls("POST /subscriptions")) == 1
        assert billing.cancel(data["id"], immediately=True).state.status == "canceled"
        assert billing.cancel(data["id"], immediately=True).state.status == "canceled"
        assert len(paddle.cancellations) == 2

    @pytest.mark.parametrize(
        "fault",
        [Fault("POST .*/cancel", lose=True), Fault("POST .*/cancel", cut=True), Fault("POST .*/cancel", delay_s=0.5)],
    )
    def test_cancel_without_a_response_reads_the_state_and_sends_no_second_request(
        self, paddle: Paddle, billing: PaddleBilling, fault: Fault
    ):
        data = subscription()
        paddle.add(data)
        paddle.faults.append(fault)
        assert billing.cancel(data["id"], immediately=False).state.cancel_at is not None
        assert len(paddle.calls("POST .*/cancel")) == 1

    def test_cancel_without_effect_is_repeated(self, paddle: Paddle, billing: PaddleBilling):
        data = subscription()
        paddle.add(data)
        paddle.faults.append(Fault("POST .*/cancel", reply=Reply(503, b"<html>")))
        assert billing.cancel(data["id"], immediately=True).state.status == "canceled"
        assert len(paddle.cancellations) == 1

    def test_cancel_with_a_failing_provider_raises_after_three_attempts(self, paddle: Paddle, billing: PaddleBilling):
        data = subscription()
        paddle.add(data)
        paddle.faults.append(Fault("POST .*/cancel", times=99, reply=Reply(500)))
        with pytest.raises(UpstreamError):
            billing.cancel(data["id"], immediately=True)
        assert len(paddle.calls("POST .*/cancel")) == 3

    def test_rejected_cancel_raises_with_the_code_of_the_provider(self, paddle: Paddle, billing: PaddleBilling):
        data = subscription()
        paddle.add(data)
        said = {"error": {"type": "request_error", "code": "subscription_not_active", "detail": "…"}}
        paddle.faults.append(Fault("POST .*/cancel", times=9, reply=Reply(400, said)))
        with pytest.raises(UpstreamRejected, match="subscription_not_active"):
            billing.cancel(data["id"], immediately=True)
        assert len(paddle.calls("POST .*/cancel")) == 1

    def test_cancel_of_an_unknown_subscription_raises_unknown_subscription(self, billing: PaddleBilling):
        with pytest.raises(UnknownSubscription):
            billing.cancel("sub_none/../../customers", immediately=True)


class TestPaymentUpdate:
    def test_payment_update_returns_a_checkout_url(self, paddle: Paddle, billing: PaddleBilling):
        data = subscription()
        paddle.add(data)
        found = billing.payment_update(data["id"])
        assert found.checkout_url == f"https://pay.example.org/?_ptxn={found.transaction_id}"

    def test_payment_update_of_an_ended_subscription_raises_upstream_rejected(
        self, paddle: Paddle, billing: PaddleBilling
    ):
        data = subscription(status="canceled")
        paddle.add(data)
        with pytest.raises(UpstreamRejected):
            billing.payment_update(data["id"])


class TestFailures:
    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            (Fault("GET", times=99, reply=Reply(500)), UpstreamError),
            (Fault("GET", times=99, reply=Reply(401)), UpstreamError),
            (Fault("GET", times=99, reply=Reply(302, None, {"Location": "http://127.0.0.1:1/"})), UpstreamError),
            (Fault("GET", times=99, reply=Reply(200, b"<html>")), UpstreamError),
            (Fault("GET", times=99, reply=Reply(200, {"data": "x"})), UpstreamError),
            (Fault("GET", times=99, reply=Reply(429, None, {"Retry-After": "3600"})), UpstreamThrottled),
            (Fault("GET", times=99, lose=True), UpstreamUnavailable),
            (Fault("GET", times=99, delay_s=0.5), UpstreamTimeout),
        ],
    )
    def test_failed_call_raises_the_error_of_its_cause(
        self, paddle: Paddle, billing: PaddleBilling, fault: Fault, error: type[DriverError]
    ):
        data = subscription()
        paddle.add(data)
        paddle.faults.append(fault)
        with pytest.raises(error):
            billing.payment_update(data["id"])

    def test_failed_read_is_retried(self, paddle: Paddle, billing: PaddleBilling):
        data = subscription()
        paddle.add(data)
        paddle.faults.append(Fault("GET", times=3, reply=Reply(503)))
        assert billing.payment_update(data["id"]).transaction_id

    def test_rejected_key_raises_upstream_error(self, paddle: Paddle):
        with pytest.raises(UpstreamError, match="rejected the credentials"):
            PaddleBilling(paddle.url, "another", webhook_secrets=SECRETS).payment_update("sub_1")


class TestListing:
    def test_list_events_returns_newest_first_over_all_pages(self, paddle: Paddle, billing: PaddleBilling):
        known = [event("customer.created", customer("a@mail.example.org"), START + timedelta(days=d)) for d in range(9)]
        paddle.add(*known)
        paddle.page_size = 2
        results = list(billing.list_events(START + timedelta(days=3)))
        assert [one.id for one in results] == [one["event_id"] for one in reversed(known[3:])]

    def test_current_state_returns_customers_subscriptions_payments_and_refunds(
        self, paddle: Paddle, billing: PaddleBilling
    ):
        old, new = START - timedelta(days=1), START + timedelta(days=1)
        sub, payer = subscription(), customer("a@mail.example.org")
        paid, before = transaction(at=new), transaction(at=old)
        back, long_ago = adjustment(paid, 100), adjustment(before, 100)
        paddle.add(sub, payer, paid, before, back, long_ago)
        paddle.page_size = 1
        results = list(billing.current_state(START))
        assert [one.state.provider_id for one in results] == [payer["id"], sub["id"], paid["id"], back["id"]]
        assert [one.id for one in billing.current_state(START)] == [one.id for one in results]
        assert paddle.calls("GET /transactions")[0].one("updated_at[GTE]") == rfc3339(START)

    def test_current_state_skips_unreadable_objects(self, paddle: Paddle, billing: PaddleBilling):
        good, bad = subscription(), subscription(items=[])
        paddle.add(good, bad)
        assert [one.state.provider_id for one in billing.current_state(START)] == [good["id"]]

    def test_list_with_too_many_pages_raises_upstream_error(self, paddle: Paddle):
        paddle.add(*[subscription() for _ in range(6)])
        paddle.page_size = 1
        calls = PaddleCalls(HttpClient(limits=HURRIED), paddle.url, KEY, limits=HURRIED)
        assert len(list(calls.pages("/subscriptions", ListSubscriptions(), max_pages=6))) == 6
        with pytest.raises(UpstreamError, match="has too many pages"):
            list(calls.pages("/subscriptions", ListSubscriptions(), max_pages=5))
