"""What happens before an account route's transaction: passwords are compared and hashed."""

from app.http.configuration import settings
from app.http.rate_limits import Failures
from app.http.scope import Scope
from app.models.user import User
from app.resources.user import service
from app.resources.user.hashing import hashed, matches
from app.resources.user.passwords import InvalidPassword, check_new
from app.resources.user.schemas import DeleteBody, SetPasswordBody


def compare(user: User, password: str | None) -> None:
    """Compare the password a signed-in user gives; wrong ones count as failed sign-ins.

    Raises:
        InvalidPassword: it is missing or wrong, or none is set.
        TooManyRequests: there were too many wrong ones.
    """
    failures = Failures(user.email_key)
    if password is None:
        raise InvalidPassword
    failures.begin()
    if not matches(user.password_hash, password):
        failures.failed()
        raise InvalidPassword
    failures.succeeded()


def set_password(scope: Scope, body: SetPasswordBody) -> tuple[str | None, str]:
    """The hash the present password was compared with (None where none is set), and the new password's.

    Raises:
        InvalidPassword: a password is set, and the given one is missing or wrong.
    """
    stored = scope.actor.password_hash
    if stored is not None:
        compare(scope.actor, body["current_password"])
    check_new(body["new_password"], scope.actor)
    return stored, hashed(body["new_password"])


def delete(scope: Scope, body: DeleteBody) -> None:
    """Make sure that it is the user who asks.

    Raises:
        InvalidPassword: a wrong password was given.
        ReauthRequired: none was given, and the session is not young.
    """
    if body["password"] is not None:
        compare(scope.actor, body["password"])
    elif not service.is_fresh(scope.session, limits=settings().limits.sessions):
        raise service.ReauthRequired
