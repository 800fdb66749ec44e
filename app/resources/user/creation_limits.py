"""Creation limits of a user from the settings of the installation."""

from app.core.limits import Limits
from app.extensions import current_settings
from app.resources.user.plan_limits import limits_for


def limits_of(user_id: str) -> Limits:
    """Return the default limits, raised by the plan of the user. For an organization, pass its owner."""
    settings = current_settings()
    return limits_for(user_id, limits=settings.limits, plans=settings.billing.plans)
