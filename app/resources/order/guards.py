"""Guard of a user's own subscriptions. Other subscriptions are not found."""

from dataclasses import dataclass

import sqlalchemy as sa

from app.access import targets
from app.access.caller import Caller
from app.access.guards import Guard
from app.access.scope import Scope
from app.core.errors import NotFound
from app.extensions import db
from app.models.order import Subscription


@dataclass(frozen=True, kw_only=True)
class SubscriptionScope(Scope):
    """The scope of a route that names a subscription of the user."""

    subscription: Subscription


def own_subscription(param: str, *, in_body: bool = False) -> Guard:
    """Permit the user who pays for the subscription. The id is ours or the provider's."""
    return Guard(
        "own subscription (decided)",
        lambda s: s.is_self,
        _subscription(param),
        target_in_body=in_body,
        description="Only for the user who pays the subscription.",
    )


def _subscription(param: str) -> targets.Resolver[Scope]:
    def find(caller: Caller | None, ids: targets.Ids) -> Scope:
        if caller is None or not caller.email_verified:
            return Scope(optional_caller=caller, path=ids)
        subscription_id = str(ids[param])
        subscription = db.session.scalar(
            sa.select(Subscription)
            .where(Subscription.user_id == caller.id)
            .where(sa.or_(Subscription.id == subscription_id, Subscription.provider_id == subscription_id))
        )
        if subscription is None:
            raise NotFound("Subscription not found")
        return SubscriptionScope(subscription=subscription, is_self=True, optional_caller=caller, path=ids)

    return targets.Resolver(SubscriptionScope, find)
