"""What happens to billing when accounts come and go."""

import sqlalchemy as sa

from app.drivers.billing.port import SubscriptionStatus
from app.extensions import db, jobs
from app.models.order import Subscription
from app.models.user import User
from app.resources.order import forgetting, owners
from app.resources.user.events import email_verified, user_deleting

email_verified.subscribe(owners.adopt)


@user_deleting.subscribe
def end_subscriptions(user: User) -> None:
    """Nobody goes on paying for an account that is gone, and nothing tells whose payments they were."""
    running = sa.select(Subscription.provider_id).where(
        Subscription.user_id == user.id, Subscription.status != SubscriptionStatus.CANCELED
    )
    for provider_id in db.session.scalars(running):
        jobs.enqueue("billing.end", provider_id=provider_id)
    forgetting.forget(user)
