"""`Idempotency-Key`: a repeated request receives the first response instead of a second effect (contract, section 0).

A claim is committed before the work, and the response is stored in the transaction of the work. Effect and response
therefore appear together. A claim is a lease: the process renews it while the request runs, and a retry takes over the
claim of a process that ended.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus

import orjson
import sqlalchemy as sa
from flask import Request, Response

from app.access.caller import Caller
from app.concurrency.timer import PeriodicTimer
from app.core.errors import AppError, Conflict, InvalidRequest
from app.core.limits import InputLimits
from app.database import transactions
from app.database.engines import SideConnections
from app.database.inserts import insert_or_ignore
from app.extensions import current_side, db
from app.http.body import RAW
from app.http.error_handlers import to_app_error
from app.models.base import Row, utcnow_ms
from app.models.request import IdempotencyKey

HEADER, MAX_LENGTH = "Idempotency-Key", InputLimits.idempotency_key_characters
RETENTION = timedelta(seconds=InputLimits.idempotency_ttl_s)
LEASE = timedelta(seconds=15)
RENEW_INTERVAL_S = 4.0

STORED_HEADERS = ("Link",)
"""Headers that belong to the result. Other headers are created for each response, or must not be stored, as cookies."""

renewals = PeriodicTimer(every_s=RENEW_INTERVAL_S)
"""The timer that renews the leases of the claims of this process."""


class KeyReused(AppError):
    """An idempotency key that was used for another request (422)."""

    status, code, message = 422, "IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for another request"


class StillRunning(Conflict):
    """A request whose first attempt has not ended (409)."""

    code, message = "STILL_RUNNING", "The first request with this Idempotency-Key is still running"


class IdempotencyClaim:
    """The claim of one request on its key.

    `is_takeover` is true if an earlier attempt ended without a response. That attempt may have had an effect outside
    the database.
    """

    def __init__(self, user_id: str, route: str, key: str, request_hash: str, *, side: SideConnections) -> None:
        self._side = side
        self._key = {"user_id": user_id, "route": route, "key": key}
        self._request_hash = request_hash
        self._row = sa.and_(*(getattr(IdempotencyKey, name) == value for name, value in self._key.items()))
        self._started_at = utcnow_ms()
        self.is_takeover = False

    def acquire(self) -> Response | None:
        """Claim the key, or return the stored response.

        Raises:
            KeyReused: the key was used for another request.
            StillRunning: the first request has not ended.
        """
        with self._side.write() as connection:
            stored = self._claim_or_read(connection)
        if stored is None:
            return None
        if stored.request_hash != self._request_hash:
            raise KeyReused
        if stored.status is None:
            raise StillRunning
        headers = {**(stored.headers or {}), "Idempotency-Replayed": "true"}
        return Response(stored.body, stored.status, headers, mimetype="application/json")

    def _claim_or_read(self, connection: sa.Connection) -> Row | None:
        """Insert or take over the row and return None, or return the row of another request."""
        now = self._started_at = utcnow_ms()
        connection.execute(sa.delete(IdempotencyKey).where(self._row, IdempotencyKey.expires_at < now))
        row = {"request_hash": self._request_hash, "created_at": now, "updated_at": now, "expires_at": now + RETENTION}
        statement = insert_or_ignore(connection.dialect.name, IdempotencyKey, self._key | row, unique=tuple(self._key))
        stored = None
        while stored is None:  # The other request may release the key between the two statements.
            if connection.execute(statement.returning(IdempotencyKey.key)).first() is not None:
                return None
            stored = connection.execute(sa.select(IdempotencyKey.__table__).where(self._row).with_for_update()).first()
        is_abandoned = stored.status is None and stored.updated_at < now - LEASE
        if not is_abandoned or stored.request_hash != self._request_hash:
            return stored
        connection.execute(sa.update(IdempotencyKey).where(self._row).values(created_at=now, updated_at=now))
        self.is_takeover = True
        return None

    def tick(self, _now_s: float) -> None:
        """Renew the lease."""
        with self._side.write() as connection:
            connection.execute(sa.update(IdempotencyKey).where(self._is_held()).values(updated_at=utcnow_ms()))

    def store_response(self, response: Response, *, hidden: tuple[str, ...] = ()) -> None:
        """Store the response in the running transaction. A streamed response is not stored and releases the key.

        The fields `hidden` of the result are secrets: they are stored as null.

        Raises:
            StillRunning: the lease expired, and another request took the claim over.
        """
        if response.is_streamed:
            db.session.execute(sa.delete(IdempotencyKey).where(self._is_held()))
            return
        values = {
            "status": response.status_code,
            "headers": {name: response.headers[name] for name in STORED_HEADERS if name in response.headers},
            "body": _without(hidden, response.get_data()),
            "updated_at": utcnow_ms(),
        }
        statement = sa.update(IdempotencyKey).where(self._is_held()).values(**values).returning(IdempotencyKey.key)
        if db.session.execute(statement).first() is None and self._exists():
            raise StillRunning

    def release(self) -> None:
        """Release the key: the request failed without an effect and may be repeated."""
        with self._side.write() as connection:
            connection.execute(sa.delete(IdempotencyKey).where(self._is_held()))

    def abandon(self) -> None:
        """End the lease: the outcome is unknown, and the next attempt takes the claim over."""
        with self._side.write() as connection:
            ended = utcnow_ms() - 2 * LEASE
            connection.execute(sa.update(IdempotencyKey).where(self._is_held()).values(updated_at=ended))

    def _is_held(self) -> sa.ColumnElement[bool]:
        return sa.and_(self._row, IdempotencyKey.status.is_(None), IdempotencyKey.created_at == self._started_at)

    def _exists(self) -> bool:
        """Return whether the row exists. It disappears with the account, for example if the request deletes it."""
        return db.session.scalar(sa.select(IdempotencyKey.key).where(self._row)) is not None


def _without(hidden: tuple[str, ...], body: bytes) -> bytes:
    """Return a JSON response whose result has null in place of the hidden fields."""
    if not hidden:
        return body
    content = orjson.loads(body)
    content["result"].update(dict.fromkeys(hidden))
    return orjson.dumps(content)


def claim_for(request: Request, caller: Caller | None) -> IdempotencyClaim | None:
    """Return the claim of a request with a key, else None. Raises InvalidRequest for an invalid key.

    A stored response is returned before the guard runs, so each API token of a user has its own keys.
    """
    key = request.headers.get(HEADER)
    if key is None or caller is None or request.method in ("GET", "HEAD", "OPTIONS"):
        return None
    if not 1 <= len(key) <= MAX_LENGTH or not key.isprintable():
        raise InvalidRequest.field(HEADER, f"The key must have 1 to {MAX_LENGTH} printable characters")
    body = request.environ.get(RAW, b"")
    digest = hashlib.sha256(request.full_path.encode() + b"\0" + body).hexdigest()
    route = f"{request.method} {request.url_rule}"
    if caller.grant is not None:
        route = f"{caller.grant.id} {route}"
    return IdempotencyClaim(caller.id, route[:255], key, digest, side=current_side())


def run(claim: IdempotencyClaim | None, work: Callable[[], Response]) -> Response:
    """Run the work once for its key. The work calls `store_response` before it commits."""
    if claim is None:
        return work()
    replay = claim.acquire()
    if replay is not None:
        return replay
    renewals.register(claim)
    try:
        return work()
    except BaseException as error:
        transactions.rollback()
        claim.release() if _has_no_effect(error) else claim.abandon()
        raise
    finally:
        renewals.unregister(claim)


def _has_no_effect(error: BaseException) -> bool:
    """Return whether the request was refused. After any other failure another system may have carried it out."""
    return isinstance(error, Exception) and to_app_error(error).status < HTTPStatus.INTERNAL_SERVER_ERROR
