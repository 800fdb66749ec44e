"""Use cases of an account: its password and its deletion. Passwords are compared and hashed before the transaction."""

from app.access import authentication
from app.core.outbound import UnrecordedAct
from app.extensions import current_settings
from app.models.login import Session
from app.models.user import User
from app.resources.user import service
from app.resources.user.guards import compare_password
from app.resources.user.passwords import check_new, hashed


def set_password(user: User, session: Session, new: str, *, current: str | None) -> UnrecordedAct[dict[str, bool]]:
    """Set or replace the password. The session of the user gets a new token.

    Raises:
        InvalidPassword: a password is set, and the current one is missing or wrong.
    """
    stored, settings = user.password_hash, current_settings()
    if stored is not None:
        compare_password(user, current)
    check_new(new, user)
    hashes, limits, link = (stored, hashed(new)), settings.limits.sessions, f"{settings.server.web_url}/forgot-password"

    def record() -> dict[str, bool]:
        authentication.set_session_cookie(service.set_password(user, session, hashes, limits=limits, link=link))
        return {"status": True}

    return UnrecordedAct(record)


def delete(
    user: User, session: Session, *, password: str | None, reason: str | None = None
) -> UnrecordedAct[dict[str, bool]]:
    """Delete an account with its data.

    Raises:
        InvalidPassword: the password is wrong.
        ReauthRequired: no password was sent, and the session is older than 15 minutes.
    """
    if password is not None:
        compare_password(user, password)
    elif not service.is_fresh(session, limits=current_settings().limits.sessions):
        raise service.ReauthRequired
    return UnrecordedAct(lambda: authentication.clear_session_cookie(service.delete(user, reason=reason)))
