"""Subscribers of account events."""

import sqlalchemy as sa

from app.drivers.billing.port import SubscriptionStatus
from app.extensions import db, jobs
from app.models.order import Subscription
from app.models.user import User
from app.resources.order import anonymization, customer_matching
from app.resources.user.events import email_verified, user_deleting

email_verified.subscribe(customer_matching.claim_by_email)


@user_deleting.subscribe
def end_subscriptions(user: User) -> None:
    """Cancel the subscriptions of a deleted account and anonymize its records."""
    running = sa.select(Subscription.provider_id).where(
        Subscription.user_id == user.id, Subscription.status != SubscriptionStatus.CANCELED
    )
    for provider_id in db.session.scalars(running):
        jobs.enqueue("billing.end", provider_id=provider_id)
    anonymization.anonymize(user)
