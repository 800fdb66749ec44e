"""Jobs of billing: nightly reconciliation, and cancellation of the subscriptions of deleted accounts."""

from datetime import timedelta

from app.core.jobs import job
from app.database import transactions
from app.drivers.billing.port import BillingProvider, UnknownSubscription
from app.resources.order.event_store import store_event
from app.resources.order.reconciliation import reconcile

INTERVAL = timedelta(hours=24)


@job("billing.reconcile", every=INTERVAL, retries=3, uses=("billing",))
def reconcile_nightly(*, billing: BillingProvider) -> None:
    """Store events of the provider that were not received."""
    reconcile(billing)


@job("billing.end", uses=("billing",))
def end(*, provider_id: str, billing: BillingProvider) -> None:
    """Cancel a subscription immediately. An ended subscription is not an error."""
    try:
        outcome = billing.cancel(provider_id, immediately=True)
    except UnknownSubscription:
        return
    with transactions.write_transaction():
        store_event(outcome)
