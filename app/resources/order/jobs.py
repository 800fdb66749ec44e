"""Billing's jobs: the nightly comparison with the provider, and the end of what a deleted account paid for."""

from datetime import timedelta

from app import transactions
from app.core.jobs import job
from app.drivers.billing.port import BillingProvider, UnknownSubscription
from app.resources.order.reconciling import reconcile
from app.resources.order.recording import record

EVERY = timedelta(hours=24)


@job("billing.reconcile", every=EVERY, retries=3, uses=("billing",))
def reconcile_nightly(*, billing: BillingProvider) -> None:
    """Take in what the provider told in vain."""
    reconcile(billing)


@job("billing.end", uses=("billing",))
def end(*, provider_id: str, billing: BillingProvider) -> None:
    """Cancel a subscription at once; done already is no error."""
    try:
        outcome = billing.cancel(provider_id, immediately=True)
    except UnknownSubscription:
        return
    with transactions.writing():
        record(outcome)
