"""Tests of disabled billing."""

from datetime import UTC, datetime

import pytest

from app.drivers.billing.none import NoBilling
from app.drivers.billing.port import InvalidSignature, UnknownSubscription

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class TestNoBilling:
    def test_any_subscription_raises_unknown_subscription(self):
        with pytest.raises(UnknownSubscription):
            NoBilling().cancel("sub_1", immediately=True)
        with pytest.raises(UnknownSubscription):
            NoBilling().payment_update("sub_1")

    def test_events_and_state_are_empty(self):
        assert list(NoBilling().list_events(NOW)) == list(NoBilling().current_state(NOW)) == []

    def test_any_notification_raises_invalid_signature(self):
        with pytest.raises(InvalidSignature):
            NoBilling().parse_notification("ts=1;h1=ab", b"{}", NOW)
