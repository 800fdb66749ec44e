"""Guards of the changes for which a signed-in user enters the password again."""

from app.access.guards import own_user
from app.database import transactions
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
    stored = user.password_hash
    failures = FailureCounter(user.email_key, stored)
    if password is None:
        raise InvalidPassword
    transactions.release_connection()  # The counter may need its store.
    failures.begin()
    if not matches(stored, password):
        failures.failed()
        raise InvalidPassword
    failures.succeeded()
