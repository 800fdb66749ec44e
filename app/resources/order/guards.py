"""Guard of a user's own subscriptions. Other subscriptions are not found."""

import sqlalchemy as sa

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard
from app.core.errors import NotFound
from app.extensions import db
from app.models.order import Subscription


def own_subscription(param: str, *, in_body: bool = False) -> Guard:
    """Permit the user who pays for the subscription. The id is ours or the provider's."""
    return Guard(
        "own subscription (decided)", lambda standing: standing.is_self, _subscription(param), target_in_body=in_body
    )


def _subscription(param: str) -> targets.TargetResolver:
    def find(actor: Caller | None, ids: targets.Ids) -> targets.Targets:
        if actor is None or not actor.email_verified:
            return {}
        subscription_id = str(ids[param])
        subscription = db.session.scalar(
            sa.select(Subscription)
            .where(Subscription.user_id == actor.id)
            .where(sa.or_(Subscription.id == subscription_id, Subscription.provider_id == subscription_id))
        )
        if subscription is None:
            raise NotFound("Subscription not found")
        return {"subscription": subscription, "is_self": True}

    return find
