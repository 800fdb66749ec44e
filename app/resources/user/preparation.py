"""What happens before an account route's transaction: passwords are compared and hashed."""

from app.core.passwords import hash_password, verify_password
from app.http.configuration import settings
from app.http.scope import Scope
from app.resources.user import service
from app.resources.user.passwords import InvalidPassword, check_new
from app.resources.user.schemas import DeleteBody, SetPasswordBody


def set_password(scope: Scope, body: SetPasswordBody) -> tuple[str | None, str]:
    """The hash the present password was compared with (None where none is set), and the new password's.

    Raises:
        InvalidPassword: a password is set, and the given one is missing or wrong.
    """
    stored = scope.actor.password_hash
    if stored is not None and not verify_password(stored, body["current_password"] or ""):
        raise InvalidPassword
    check_new(body["new_password"], scope.actor)
    return stored, hash_password(body["new_password"])


def delete(scope: Scope, body: DeleteBody) -> None:
    """Make sure that it is the user who asks.

    Raises:
        InvalidPassword: a wrong password was given.
        ReauthRequired: none was given, and the session is not young.
    """
    if body["password"] is not None:
        if not verify_password(scope.actor.password_hash, body["password"]):
            raise InvalidPassword
    elif not service.is_fresh(scope.session, limits=settings().limits.sessions):
        raise service.ReauthRequired
