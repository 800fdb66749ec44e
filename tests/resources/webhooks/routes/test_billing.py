"""Tests of the payment provider's notifications over HTTP: signatures and repeated deliveries.

`GALLEY_LONG=1` sends 9,000 forged events and 1,000 replays instead of 900 and 200.
"""

import json
import os
import random
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from app.core import clock
from app.core.limits import InputLimits
from app.drivers.billing.port import InvalidSignature
from app.extensions import db
from app.models.order import BillingEvent, Order
from tests.support.doubles.paddle_data import START, event, signature, subscription, transaction
from tests.support.parallel import statuses, together
from tests.support.payments import SECRETS, app, faultless, notify, paddle, send, settings
from tests.support.world import World

pytestmark = pytest.mark.slow

__all__ = ["app", "faultless", "paddle", "settings"]

FORGERIES, REPLAYS = (9_000, 1_000) if os.environ.get("GALLEY_LONG") else (900, 200)


def known(world: World, event_id: str) -> int:
    with world.app.app_context():
        statement = sa.select(sa.func.count()).select_from(BillingEvent).where(BillingEvent.id == event_id)
        return db.session.scalars(statement).one()


class TestReceive:
    @pytest.mark.parametrize("secret", SECRETS)
    def test_event_signed_with_a_configured_secret_is_stored(self, world: World, secret: str) -> None:
        payload = event("subscription.created", subscription())
        assert notify(world, payload, secret=secret).ok() == {"received": True}
        assert known(world, payload["event_id"]) == 1

    def test_repeated_event_is_stored_once(self, world: World) -> None:
        me = world.person()
        payload = event("transaction.completed", transaction(user_id=me.id))
        for _ in range(3):
            notify(world, payload).ok()
        assert known(world, payload["event_id"]) == 1
        assert len(me.get(f"/order/{me.id}").ok()["orders"]) == 1

    def test_parallel_events_are_stored_once(self, world: World) -> None:
        data = transaction()
        payloads = [event("transaction.completed", data, START + timedelta(minutes=n)) for n in range(3)]
        assert statuses(together([partial(notify, world, payload) for payload in payloads * 3])) == {200: 9}
        assert [known(world, payload["event_id"]) for payload in payloads] == [1, 1, 1]
        with world.app.app_context():
            statement = sa.select(sa.func.count()).select_from(Order).where(Order.provider_id == data["id"])
            assert db.session.scalars(statement).one() == 1

    def test_unknown_event_type_is_acknowledged_and_not_stored(self, world: World) -> None:
        payload = event("product.updated", {"id": "pro_1"})
        notify(world, payload).ok()
        assert known(world, payload["event_id"]) == 0

    def test_keys_of_the_result_are_repeated_at_the_top_level(self, world: World) -> None:
        assert notify(world, event("product.updated", {"id": "pro_1"})).json["received"] is True


@pytest.mark.one_database
class TestRejection:
    def test_invalid_signature_returns_400(self, world: World) -> None:
        body = json.dumps(event("subscription.created", subscription())).encode()
        now = datetime.now(UTC)
        for header in (
            None,
            "",
            "ts=1;h1=00",
            signature(body, "another secret", now),
            signature(body + b" ", SECRETS[0], now),
        ):
            send(world, body, header).fails(400, "BAD_SIGNATURE")
        assert known(world, json.loads(body)["event_id"]) == 0

    @pytest.mark.parametrize(("seconds", "status"), [(-290, 200), (-310, 400), (310, 400)])
    def test_signature_expires_after_five_minutes(self, world: World, seconds: int, status: int) -> None:
        payload = event("subscription.created", subscription())
        assert notify(world, payload, at=datetime.now(UTC) + timedelta(seconds=seconds)).status == status

    def test_forged_and_replayed_events_are_not_stored(self, world: World) -> None:
        notified = event("transaction.completed", transaction())
        real = json.dumps(notified).encode()
        header, now, dice = signature(real, SECRETS[0], datetime.now(UTC)), datetime.now(UTC), random.Random(7)
        send(world, real, header).ok()
        before = self.count(world)
        provider = world.app.extensions["drivers"].billing
        refused = 0
        for number in range(FORGERIES):
            forged = json.dumps(event("transaction.completed", transaction(number))).encode()
            tried = [
                header,
                signature(forged, "guess", now),
                f"ts={int(now.timestamp())};h1={dice.randbytes(32).hex()}",
            ]
            refused += self.is_refused(provider, tried[number % 3], forged, now)
        with clock.shifted(timedelta(seconds=301)):
            refused += sum(self.is_refused(provider, header, real, clock.now()) for _ in range(REPLAYS - 100))
            late = [send(world, real, header).status for _ in range(50)]
        early = [send(world, real, header).status for _ in range(50)]
        assert refused == FORGERIES + REPLAYS - 100
        assert (set(late), set(early)) == ({400}, {200})
        assert self.count(world) == before

    @staticmethod
    def is_refused(provider: object, header: str, body: bytes, now: datetime) -> bool:
        try:
            provider.parse_notification(header, body, now)
        except InvalidSignature:
            return True
        return False

    @staticmethod
    def count(world: World) -> int:
        with world.app.app_context():
            return db.session.scalars(sa.select(sa.func.count()).select_from(BillingEvent)).one()

    def test_unreadable_event_returns_400(self, world: World) -> None:
        notify(world, event("subscription.created", {"id": "sub_1"})).fails(400, "UNREADABLE_EVENT")

    def test_body_above_the_limit_returns_413(self, world: World) -> None:
        payload = event("product.updated", {"id": "x" * InputLimits.webhook_bytes})
        notify(world, payload).fails(413, "TOO_LARGE")
        small = event("product.updated", {"id": "x" * (InputLimits.webhook_bytes - 500)})
        notify(world, small).ok()

    def test_invalid_json_returns_400(self, world: World) -> None:
        send(world, b"{", signature(b"{", SECRETS[0], datetime.now(UTC))).fails(400)
