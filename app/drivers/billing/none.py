"""Billing switched off: nobody pays, so there is nothing to tell and nothing to cancel."""

from collections.abc import Iterator
from datetime import datetime

from app.drivers.billing.port import BillingEvent, Forged, PaymentUpdate, UnknownSubscription


class NoBilling:
    """The provider of installations that take no payments."""

    def cancel(self, provider_id: str, *, immediately: bool) -> BillingEvent:
        """There is no subscription."""
        raise UnknownSubscription("There is no such subscription")

    def payment_update(self, provider_id: str) -> PaymentUpdate:
        """There is no subscription."""
        raise UnknownSubscription("There is no such subscription")

    def happened(self, since: datetime) -> Iterator[BillingEvent]:
        """Nothing."""
        return iter(())

    def standing(self, since: datetime) -> Iterator[BillingEvent]:
        """Nothing."""
        return iter(())

    def notification(self, signature: str | None, body: bytes, now: datetime) -> BillingEvent:
        """Nobody sends any, so each is forged."""
        raise Forged("Billing is switched off")
