"""Driver of installations without payments."""

from collections.abc import Iterator
from datetime import datetime

from app.drivers.billing.port import InvalidSignature, PaymentUpdate, ProviderEvent, UnknownSubscription


class NoBilling:
    """A provider without subscriptions, events and notifications."""

    def cancel(self, provider_id: str, *, immediately: bool) -> ProviderEvent:
        """Raise UnknownSubscription."""
        raise UnknownSubscription("There is no such subscription")

    def payment_update(self, provider_id: str) -> PaymentUpdate:
        """Raise UnknownSubscription."""
        raise UnknownSubscription("There is no such subscription")

    def list_events(self, since: datetime) -> Iterator[ProviderEvent]:
        return iter(())

    def current_state(self, since: datetime) -> Iterator[ProviderEvent]:
        return iter(())

    def parse_notification(self, signature: str | None, body: bytes, now: datetime) -> ProviderEvent:
        """Raise InvalidSignature."""
        raise InvalidSignature("Billing is disabled")
