"""Use cases of an account: its password and its deletion. Passwords are compared and hashed before the transaction."""

from app.access import authentication
from app.access.caller import CallerSession
from app.core.errors import ReauthRequired
from app.core.ids import HasId
from app.core.outbound import UnrecordedAct
from app.extensions import current_settings
from app.models.user import User
from app.resources.user import passwords, service, sessions
from app.resources.user.guards import compare_password
from app.resources.user.mail import notify
from app.resources.user.passwords import check_new, hashed


def set_password(
    user: User,
    session: HasId,
    *,
    new_password: str,
    current_password: str | None,
    is_change: bool = False,
    revoke_others: bool = True,
) -> UnrecordedAct[dict[str, object]]:
    """Set or replace the password. The session of the user gets a new token. Returns the user.

    Raises:
        InvalidPassword: a password is set or `is_change`, and the current one is missing or wrong.
        ReauthRequired: no password is set, and the session is not recent.
    """
    stored, settings = user.password_hash, current_settings()
    if is_change or stored is not None:
        compare_password(user, current_password)
    else:
        authentication.check_recent(authentication.session())
    check_new(new_password, user)
    new_hash, link = hashed(new_password), f"{settings.server.web_url}/forgot-password"

    def record() -> dict[str, object]:
        passwords.replace(user, new_hash, was=stored)
        if revoke_others:
            sessions.end_all(user.id, but=session.id)
        notify(user, "password_changed", link=link)
        opened = authentication.set_session_cookie(sessions.renew(session.id, user, limits=settings.limits.sessions))
        return {"status": True, "user": opened.user}

    return UnrecordedAct(record)


def delete(
    user: User, session: CallerSession, *, password: str | None, reason: str | None = None
) -> UnrecordedAct[dict[str, bool]]:
    """Delete an account with its data.

    Raises:
        InvalidPassword: the password is wrong.
        ReauthRequired: no password was sent, and the last proof of the identity is older than 15 minutes.
    """
    if password is not None:
        compare_password(user, password)
    elif not service.is_fresh(session.authenticated_at, limits=current_settings().limits.sessions):
        raise ReauthRequired
    return UnrecordedAct(lambda: authentication.clear_session_cookie(service.delete(user, reason=reason)))
