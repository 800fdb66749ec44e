"""Whether somebody may still read what is being sent, long after the request's own guard was asked."""

from collections.abc import Callable

import sqlalchemy as sa
import structlog

from app.core.database import is_passing
from app.models.organization import Membership

log = structlog.get_logger(__name__)


def still(allowed: Callable[[], bool]) -> bool:
    """Whether a reader still may. While the database cannot be asked, nobody's rights change in it."""
    try:
        return allowed()
    except Exception as error:
        if is_passing(error):
            log.info("rights.not_looked_up", error=type(error).__name__)
            return True
        log.exception("rights.not_looked_up")
        return False


def membership(reading: sa.Engine, organization_id: str, user_id: str) -> Callable[[], bool]:
    """What looks up whether they are a member, each time on a connection of its own that only reads."""
    wanted = sa.select(Membership.role).where(
        Membership.organization_id == organization_id, Membership.user_id == user_id
    )

    def allowed() -> bool:
        with reading.connect() as connection:
            return connection.scalar(wanted) is not None

    return allowed
