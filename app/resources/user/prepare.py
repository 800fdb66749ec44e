"""Steps before the transactions of the account routes: comparison and hashing of passwords."""

from app.access.scope import Scope
from app.extensions import current_settings
from app.http.rate_limits import FailureCounter
from app.models.user import User
from app.resources.user import service
from app.resources.user.passwords import InvalidPassword, check_new, hashed, matches
from app.resources.user.schemas import DeleteAccountBody, SetPasswordBody


def compare(user: User, password: str | None) -> None:
    """Compare the password of a signed-in user. A wrong password counts as a failed sign-in.

    Raises:
        InvalidPassword: the password is missing, wrong or not set.
        TooManyRequests: too many passwords were wrong.
    """
    failures = FailureCounter(user.email_key, user.password_hash)
    if password is None:
        raise InvalidPassword
    failures.begin()
    if not matches(user.password_hash, password):
        failures.failed()
        raise InvalidPassword
    failures.succeeded()


def set_password(scope: Scope, body: SetPasswordBody) -> tuple[str | None, str]:
    """Return the hash with which the current password was compared (None if it is not set), and the new hash.

    Raises:
        InvalidPassword: a password is set, and the sent one is missing or wrong.
    """
    stored = scope.user.password_hash
    if stored is not None:
        compare(scope.user, body.current_password)
    check_new(body.new_password, scope.user)
    return stored, hashed(body.new_password)


def delete(scope: Scope, body: DeleteAccountBody) -> None:
    """Confirm the identity of the user.

    Raises:
        InvalidPassword: the password is wrong.
        ReauthRequired: no password was sent, and the session is older than 15 minutes.
    """
    if body.password is not None:
        compare(scope.user, body.password)
    elif not service.is_fresh(scope.session, limits=current_settings().limits.sessions):
        raise service.ReauthRequired
