"""The rows of the rate-limit table (limits, section 1), and who each counts: an address, a user, an account.

A row's name is a field of `RateLimits`: `name_address` counts the client's address, before anything else of the request
is looked at; `name` counts the signed-in user. Routes without a row fall under "other".
"""

from collections.abc import Sequence

from flask import current_app, request

from app.core.errors import TooManyRequests
from app.core.limits import Rate, RateLimits
from app.extensions import limiter
from app.http import login
from app.http.caller import Caller
from app.http.client_address import client_address, network_of

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
COUNTED_BY_HAND = frozenset({"forget_password", "sandbox_create"})
"""Rows that the body has a say in: which account is meant, whether anything is to be started at all."""


def check_address(name: str | None) -> None:
    """Count the client's address; the first thing that happens to a request.

    Raises:
        TooManyRequests: its row is used up.
    """
    row = f"{name}_address"
    if name is None or not _rates(row):
        row = "signed_in_address" if _has_cookie() else "anonymous_address"
    _spend(row, address())


def check_caller(name: str | None, caller: Caller | None) -> None:
    """Count the user, once it is known who it is; a cookie that opens nothing counts as none.

    Raises:
        TooManyRequests: a row is used up.
    """
    if caller is None:
        if _has_cookie() and not (name and _rates(f"{name}_address")):
            _spend("anonymous_address", address())
        return
    check_signed_in(caller.id)
    if request.method not in SAFE:
        _spend("writes", caller.id)
    if name is not None and name not in COUNTED_BY_HAND:
        _spend(name, caller.id)


def count(name: str, user_id: str) -> None:
    """Count the user in a row that is counted by hand.

    Raises:
        TooManyRequests: the row is used up.
    """
    _spend(name, user_id)


def check_signed_in(user_id: str) -> None:
    """Count any request of a signed-in user.

    Raises:
        TooManyRequests: the row is used up.
    """
    _spend("signed_in", user_id)


def is_within(name: str, key: str, rates: Sequence[Rate] | None = None) -> bool:
    """Count something silently; False when its row (or the given rates) is used up."""
    return limiter.spend(_rates(name) if rates is None else rates, name, key) == 0


class Failures:
    """Wrong passwords of one account and from one address.

    Of the account every try counts before it is compared, so that parallel ones cannot outrun the count, and a right
    one forgives them; of the address the wrong ones count.
    """

    def __init__(self, account: str) -> None:
        self._account = account

    def begin(self) -> None:
        """Count a try. Raises TooManyRequests when there were too many wrong ones."""
        wait_s = limiter.wait_s(_rates("sign_in_failures_address"), "sign_in_failures_address", address())
        if wait_s:
            raise TooManyRequests(retry_after_s=wait_s)
        _spend("sign_in_failures", self._account)

    def failed(self) -> None:
        """The password was wrong."""
        limiter.spend(_rates("sign_in_failures_address"), "sign_in_failures_address", address())

    def succeeded(self) -> None:
        """The password was right."""
        limiter.forgive(_rates("sign_in_failures"), "sign_in_failures", self._account)


def address() -> str:
    """What the client's rates are counted by."""
    hops = current_app.config["SETTINGS"].server.trusted_hops
    return network_of(client_address(request, trusted_hops=hops))


def is_row(name: str) -> bool:
    """Whether the table has such a row."""
    known = RateLimits()
    return hasattr(known, name) or hasattr(known, f"{name}_address")


def _spend(name: str, key: str) -> None:
    wait_s = limiter.spend(_rates(name), name, key)
    if wait_s:
        raise TooManyRequests(retry_after_s=wait_s)


def _rates(name: str) -> tuple[Rate, ...]:
    found: tuple[Rate, ...] = getattr(current_app.config["SETTINGS"].limits.rates, name, ())
    return found


def _has_cookie() -> bool:
    return login.cookie_name() in request.cookies
