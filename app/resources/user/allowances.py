"""The creation limits of a user as this installation sets them, for routes to pass on."""

from app.core.limits import Limits
from app.http.configuration import settings
from app.resources.user.entitlements import limits_for


def limits_of(user_id: str) -> Limits:
    """Everybody's limits, raised by the plan the user pays for. For an organization it is its owner's that count."""
    known = settings()
    return limits_for(user_id, limits=known.limits, plans=known.billing.plans)
