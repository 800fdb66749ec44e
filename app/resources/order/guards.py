"""Whose subscription it is; to everybody else it does not exist."""

import sqlalchemy as sa

from app.core.errors import NotFound
from app.extensions import db
from app.http import targets
from app.http.caller import Caller
from app.http.guards import Guard
from app.models.order import Subscription


def own_subscription(param: str, *, in_body: bool = False) -> Guard:
    """Whoever pays for the subscription, named by our id or the provider's."""
    return Guard(
        "own subscription (decided)", lambda standing: standing.is_self, _subscription(param), ids_in_body=in_body
    )


def _subscription(param: str) -> targets.Find:
    def find(actor: Caller | None, ids: targets.Ids) -> targets.Found:
        if actor is None or not actor.email_verified:
            return {}
        wanted = str(ids[param])
        found = db.session.scalar(
            sa.select(Subscription)
            .where(Subscription.user_id == actor.id)
            .where(sa.or_(Subscription.id == wanted, Subscription.provider_id == wanted))
        )
        if found is None:
            raise NotFound("Subscription not found")
        return {"subscription": found, "is_self": True}

    return find
