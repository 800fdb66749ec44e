"""Repeated membership checks for open streams."""

from collections.abc import Callable

import sqlalchemy as sa
import structlog

from app.database.errors import is_transient
from app.models.organization import Membership

log = structlog.get_logger(__name__)


def is_still_allowed(check: Callable[[], bool]) -> bool:
    """Return the result of the check. While the database is unavailable, memberships cannot change: return True."""
    try:
        return check()
    except Exception as error:
        if is_transient(error):
            log.info("membership.check_failed", error=type(error).__name__)
            return True
        log.exception("membership.check_failed")
        return False


def membership_check(reading: sa.Engine, organization_id: str, user_id: str) -> Callable[[], bool]:
    """Return a function that reports whether the user is a member. Each call uses a separate reading connection."""
    statement = sa.select(Membership.role).where(
        Membership.organization_id == organization_id, Membership.user_id == user_id
    )

    def allowed() -> bool:
        with reading.connect() as connection:
            return connection.scalar(statement) is not None

    return allowed
