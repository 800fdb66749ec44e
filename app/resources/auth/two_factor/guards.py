"""Declared actions of the second factor, and the counts of its codes, mails and resets."""

from functools import partial

from app.access.guards import public, roles, verified
from app.access.tokens import SESSION_ONLY
from app.core.errors import TooManyRequests
from app.core.permissions import Role
from app.core.rates import Rate
from app.database import transactions
from app.extensions import current_settings
from app.http.actions import DeclaredAction
from app.http.rate_limits import clear_events, record_events, try_count
from app.resources.auth.two_factor.errors import SecondFactorLocked

ATTEMPTS, MAILS, RESETS = "second_factor_attempts", "second_factor_mails", "second_factor_resets"

_set_up = partial(DeclaredAction, guard=verified().without_second_factor())
_of_visitor = partial(DeclaredAction, guard=public("public+rate"), outside=True, rate="verify")

CHANGE = _set_up(outside=True)
LIST_DEVICES = _set_up()
END_DEVICE = _set_up()
NEW_CODES = _set_up()
VERIFY = _of_visitor()
SEND_CODE = _of_visitor()
RESET = _of_visitor(guard=public("public+token"), rate="reset")
REQUEST_RESET = DeclaredAction(guard=roles(Role.OWNER).for_tokens(SESSION_ONLY), outside=True)


def count_attempt(user_id: str) -> None:
    """Count a code of a user before it is compared, so that parallel codes cannot exceed the rate.

    Raises:
        SecondFactorLocked: too many codes were wrong.
    """
    try:
        with transactions.write_transaction():
            record_events(current_settings().limits.codes.factor_attempts, ATTEMPTS, user_id)
    except TooManyRequests as error:
        raise SecondFactorLocked(retry_after_s=int(error.headers["Retry-After"])) from error


def clear_attempts(user_id: str) -> None:
    """Forget the counted codes of a user after a correct one, in the running transaction."""
    clear_events(ATTEMPTS, user_id)


def count_mail(user_id: str) -> None:
    """Count a mail with a code. Raises TooManyRequests."""
    codes = current_settings().limits.codes
    _require(
        try_count(MAILS, user_id, (Rate(1, codes.otp_resend_s, is_fixed=True), *codes.otp_sends)), codes.otp_resend_s
    )


def count_reset(user_id: str) -> None:
    """Count a mail with a link that removes the second factor of a user. Raises TooManyRequests."""
    rates = current_settings().limits.codes.factor_resets
    _require(try_count(RESETS, user_id, rates), rates[0].per_s)


def _require(is_permitted: bool, wait_s: int) -> None:
    if not is_permitted:
        raise TooManyRequests(retry_after_s=wait_s)
