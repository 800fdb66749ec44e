"""Subscribers of account events: the billing records of a deleted account are anonymized.

Amounts, plans and dates are retained. The payment provider sells and writes the invoices, so it knows the payer.
"""

import sqlalchemy as sa

from app.drivers.billing.port import SubscriptionStatus
from app.extensions import db, jobs
from app.models.order import BillingCustomer, BillingEvent, Order, PreOrder, Subscription
from app.models.user import User
from app.resources.order import customer_matching
from app.resources.user.events import email_verified, user_deleting

email_verified.subscribe(customer_matching.claim_by_email)
BLANKS = {"email": "", "user_id": None}


@user_deleting.subscribe
def end_subscriptions(user: User) -> None:
    """Cancel the subscriptions of a deleted account and anonymize its records."""
    running = sa.select(Subscription.provider_id).where(
        Subscription.user_id == user.id, Subscription.status != SubscriptionStatus.CANCELED
    )
    for provider_id in db.session.scalars(running):
        jobs.enqueue("billing.end", provider_id=provider_id)
    anonymize(user)


def anonymize(user: User) -> None:
    """Remove the user's id and e-mail addresses from all records."""
    for event in db.session.scalars(sa.select(BillingEvent).where(BillingEvent.entity_id.in_(_entities(user)))):
        event.email_key = None
        event.state = event.state | {name: blank for name, blank in BLANKS.items() if name in event.state}
    for table in (Subscription, Order):
        db.session.execute(sa.update(table).where(table.named_user_id == user.id).values(named_user_id=None))
    statement = sa.select(PreOrder).where(
        sa.or_(PreOrder.user_id == user.id, sa.func.lower(PreOrder.email) == user.email_key)
    )
    for order in db.session.scalars(statement):
        order.email = None
    db.session.flush()


def _entities(user: User) -> set[str]:
    """Return the provider's ids of the user's customers, subscriptions and payments."""
    mine = (
        sa.select(BillingCustomer.id).where(BillingCustomer.user_id == user.id),
        sa.select(BillingEvent.entity_id).where(BillingEvent.email_key == user.email_key),
        *(
            sa.select(table.provider_id).where(sa.or_(table.user_id == user.id, table.named_user_id == user.id))
            for table in (Subscription, Order)
        ),
    )
    return {entity_id for statement in mine for entity_id in db.session.scalars(statement)}
