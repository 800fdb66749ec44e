"""Policy of new accounts (`SIGN_UP`)."""

import sqlalchemy as sa

from app.core.errors import ErrorMessage, PermissionDenied
from app.extensions import current_settings, db
from app.models.base import utcnow_ms
from app.models.organization import Invitation


class SignUpClosed(PermissionDenied):
    """A sign-up that the operator does not accept (403)."""

    code, message = (
        "SIGN_UP_CLOSED",
        ErrorMessage("This installation does not accept new accounts without an invitation"),
    )


def check_sign_up(email_key: str) -> None:
    """Check that an account may be created for an e-mail address.

    The response for an address with an account is the same as for one without.

    Raises:
        SignUpClosed: new accounts are closed, or the address has no open invitation.
    """
    policy = current_settings().server.sign_up
    if policy == "open" or (policy == "invited" and _is_invited(email_key)):
        return
    raise SignUpClosed


def _is_invited(email_key: str) -> bool:
    open_invitation = sa.select(Invitation.id).where(
        Invitation.email_key == email_key, Invitation.expires_at > utcnow_ms()
    )
    return db.session.scalar(open_invitation.limit(1)) is not None
