"""The rows of the rate-limit table (limits, section 1): the address, user or account that each row counts.

A row is a field of `RateLimits`: `name_address` counts the client address, `name` counts the signed-in user. Routes
without a row count as "other": each signed-in user and each API token has its own count. Rates below one hour are
counted for every request, in Redis or in memory. Longer rates are counted in the database, for the requests that
succeed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from math import ceil

import sqlalchemy as sa
import structlog
from flask import current_app, g, request

from app.access import authentication
from app.access.caller import Caller
from app.access.client_address import client_address, network_of
from app.core.errors import TooManyRequests
from app.core.ids import new_id
from app.core.rates import EXPLICIT_ROWS, HOUR, Rate, RateLimits
from app.database import transactions
from app.database.errors import DatabaseError
from app.extensions import current_settings, db, limiter
from app.models.base import utcnow_ms
from app.models.request import RateEvent
from app.rate_limiting.counter import digest

log = structlog.get_logger(__name__)

_EVENTS = RateEvent.__table__.c
# The oldest of the newest `times` events: the rate is used up as long as it is in the window.
_OLDEST = (
    sa.select(_EVENTS.created_at)
    .where(_EVENTS.name == sa.bindparam("name"), _EVENTS.key == sa.bindparam("key"))
    .where(_EVENTS.created_at > sa.bindparam("since"))
    .order_by(_EVENTS.created_at.desc())
    .offset(sa.bindparam("newer", type_=sa.Integer))
    .limit(1)
)
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def short_rates(rates: Sequence[Rate]) -> tuple[Rate, ...]:
    """Return the rates that are counted in Redis or in memory."""
    return tuple(rate for rate in rates if rate.per_s < HOUR)


def long_rates(rates: Sequence[Rate]) -> tuple[Rate, ...]:
    """Return the rates that are counted in the database."""
    return tuple(rate for rate in rates if rate.per_s >= HOUR)


def check_events(rates: Sequence[Rate], name: str, key: str) -> None:
    """Raise TooManyRequests if one of the rates is used up. Counts nothing."""
    wait_s = _wait_s(rates, name, digest(key))
    if wait_s:
        raise TooManyRequests(retry_after_s=wait_s)


def record_events(rates: Sequence[Rate], name: str, key: str) -> str:
    """Count an event in the running transaction and return its id. A rollback removes it.

    Raises:
        TooManyRequests: one of the rates is used up.
    """
    hashed = digest(key)
    _lock_events(name, hashed)
    wait_s = _wait_s(rates, name, hashed)
    if wait_s:
        raise TooManyRequests(retry_after_s=wait_s)
    event_id = new_id("rte")
    db.session.execute(sa.insert(RateEvent).values(id=event_id, name=name, key=hashed, created_at=utcnow_ms()))
    return event_id


def clear_events(name: str, key: str) -> None:
    """Delete the events of a key in the running transaction."""
    db.session.execute(sa.delete(RateEvent).where(RateEvent.name == name, RateEvent.key == digest(key)))


def delete_events(event_ids: Sequence[str]) -> None:
    """Delete counted events in the running transaction."""
    db.session.execute(
        sa.delete(RateEvent).where(RateEvent.id.in_(event_ids)), execution_options={"synchronize_session": False}
    )


def _wait_s(rates: Sequence[Rate], name: str, hashed: str) -> int:
    """Return the seconds until each rate has room for one more event; 0 if they have it now."""
    now, scale = utcnow_ms(), current_settings().server.rate_limit_scale
    wait = timedelta(0)
    for rate in rates:
        window = timedelta(seconds=rate.per_s)
        parameters = {"name": name, "key": hashed, "since": now - window, "newer": rate.scaled(scale).times - 1}
        for [oldest] in db.session.execute(_OLDEST, parameters):
            wait = max(wait, oldest + window - now)
    return ceil(wait.total_seconds())


def _lock_events(name: str, hashed: str) -> None:
    """Serialize the transactions that count the same key. SQLite has one writer, so it needs no lock."""
    if db.session.connection().dialect.name == "postgresql":
        number = int.from_bytes(bytes.fromhex(digest(f"{name}:{hashed}")[:16]), signed=True)
        db.session.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def check_address(name: str | None) -> None:
    """Count the client address. This is the first check of a request.

    Raises:
        TooManyRequests: the row is used up.
    """
    _acquire(_address_row(name), address())


def check_caller(name: str | None, caller: Caller | None) -> None:
    """Count the user or API token, and compare the rates in the database. Invalid credentials count as anonymous.

    Raises:
        TooManyRequests: a row is used up.
    """
    if caller is None:
        if _has_credentials() and _address_row(name) == "signed_in_address":
            _acquire("anonymous_address", address())
    else:
        _check_requests(caller)
        if name is not None and name not in EXPLICIT_ROWS:
            _acquire(name, caller.id)
    for row, key in _stored_rows(name, caller):
        check_events(long_rates(_rates(row)), row, key)


def _check_requests(caller: Caller) -> None:
    """Count any request of a user or API token, and its writes."""
    grant = caller.grant
    requests, writes, key = ("signed_in", "writes", caller.id) if grant is None else ("token", "token_writes", grant.id)
    _acquire(requests, key)
    if request.method not in SAFE:
        _acquire(writes, key)


def record(name: str | None, caller: Caller | None) -> None:
    """Count the request in the rates of the database, in the running transaction.

    Raises:
        TooManyRequests: a row is used up.
    """
    for row, key in _stored_rows(name, caller):
        record_events(long_rates(_rates(row)), row, key)


def record_before_upstream(name: str | None, caller: Caller | None) -> None:
    """Count the request in a separate transaction. `cancelled_on_failure` deletes the events if the request fails.

    Raises:
        TooManyRequests: a row is used up.
    """
    for row, key in _stored_rows(name, caller):
        _record_now(long_rates(_rates(row)), row, key)


def count(name: str, user_id: str) -> None:
    """Count the user in an explicit row.

    Raises:
        TooManyRequests: the row is used up.
    """
    _acquire(name, user_id)
    if stored := long_rates(_rates(name)):
        _record_now(stored, name, user_id)


def try_count(name: str, key: str, rates: Sequence[Rate] | None = None) -> bool:
    """Count an event; return False if its row, or one of the given rates, is used up."""
    applied = _rates(name) if rates is None else rates
    if limiter.try_acquire(short_rates(applied), name, key):
        return False
    try:
        if stored := long_rates(applied):
            _record_now(stored, name, key)
    except TooManyRequests:
        return False
    return True


@contextmanager
def cancelled_on_failure() -> Iterator[None]:
    """Delete the events that the request has recorded in separate transactions if the block raises."""
    try:
        yield
    except BaseException:
        cancel_recorded()
        raise


def confirm_recorded() -> None:
    """Keep the events that the request has recorded in separate transactions, also if the request fails later."""
    g.pop("rate_events", None)


def cancel_recorded() -> None:
    """Delete the events that the request has recorded in separate transactions."""
    event_ids: list[str] = g.pop("rate_events", [])
    if not event_ids:
        return
    transactions.rollback()
    try:
        with transactions.write_transaction():
            delete_events(event_ids)
    except DatabaseError as error:
        # The request has failed already. Until the window ends, the events count as requests.
        log.warning("rates.cancel_failed", error=type(error).__name__)


class FailureCounter:
    """The counts of wrong passwords: for an account from this address, an account from all addresses, and this address.

    An attempt counts for account and address before the password is compared, so that parallel attempts cannot exceed
    the rate; a correct password clears this count. The keys contain a hash of the stored password, so that a reset of
    the password clears all counts of the account, in every process.
    """

    def __init__(self, account: str, stored_hash: str | None) -> None:
        self._account = f"{account} {stored_hash or ''}"

    def begin(self) -> None:
        """Count an attempt. Raises TooManyRequests after too many wrong passwords."""
        for row, key in self._shared_rows():
            wait_s = limiter.wait_s(_rates(row), row, key)
            if wait_s:
                raise TooManyRequests(retry_after_s=wait_s)
        _acquire("sign_in_failures", self._account_and_address())

    def failed(self) -> None:
        """Count a wrong password."""
        for row, key in self._shared_rows():
            limiter.try_acquire(_rates(row), row, key)

    def succeeded(self) -> None:
        """Clear the count of this account and address."""
        limiter.reset(_rates("sign_in_failures"), "sign_in_failures", self._account_and_address())

    def _account_and_address(self) -> str:
        return f"{self._account} {address()}"

    def _shared_rows(self) -> tuple[tuple[str, str], ...]:
        return ("sign_in_failures_account", self._account), ("sign_in_failures_address", address())


def address() -> str:
    """Return the network of the client, by which rates are counted."""
    hops = current_settings().server.trusted_hops
    return network_of(client_address(request, trusted_hops=hops))


def is_row(name: str) -> bool:
    """Return True if the table has this row."""
    rate_limits = RateLimits()
    return hasattr(rate_limits, name) or hasattr(rate_limits, f"{name}_address")


def _address_row(name: str | None) -> str:
    """Return the row that counts every request of the address."""
    row = f"{name}_address"
    if name is not None and short_rates(_rates(row)):
        return row
    return "signed_in_address" if _has_credentials() else "anonymous_address"


def _stored_rows(name: str | None, caller: Caller | None) -> Iterator[tuple[str, str]]:
    """Yield the rows with rates in the database, each with its key."""
    if name is None:
        return
    if long_rates(_rates(f"{name}_address")):
        yield f"{name}_address", address()
    if caller is not None and name not in EXPLICIT_ROWS and long_rates(_rates(name)):
        yield name, caller.id


def _record_now(rates: Sequence[Rate], name: str, key: str) -> None:
    with transactions.write_transaction():
        event_id = record_events(rates, name, key)
    g.setdefault("rate_events", []).append(event_id)


def _acquire(name: str, key: str) -> None:
    rates = short_rates(_rates(name))
    wait_s = limiter.try_acquire(rates, name, key) if rates else 0
    if wait_s:
        raise TooManyRequests(retry_after_s=wait_s)


def _rates(name: str) -> tuple[Rate, ...]:
    rates: tuple[Rate, ...] = getattr(current_app.config["SETTINGS"].limits.rates, name, ())
    return rates


def _has_credentials() -> bool:
    return authentication.has_bearer() or authentication.cookie_name() in request.cookies
