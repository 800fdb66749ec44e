"""Guards of the changes for which a signed-in user enters the password again."""

from app.access.guards import own_user
from app.http.actions import DeclaredAction
from app.http.rate_limits import FailureCounter
from app.models.user import User
from app.resources.user.passwords import InvalidPassword, matches

DELETE = DeclaredAction(guard=own_user("id", spec_name="verifyAuth+self+fresh"), outside=True, etag_of="user.read")


def compare_password(user: User, password: str | None) -> None:
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
