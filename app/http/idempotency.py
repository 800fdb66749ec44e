"""`Idempotency-Key`: a repeated request gets the first answer instead of a second effect (contract, section 0).

The key is claimed in a transaction of its own before the work, and the answer is kept in the work's own transaction, so
that effect and record appear together. A claim whose worker died is taken over once it is older than any request lives.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta

import sqlalchemy as sa
from flask import Request, Response

from app.core.errors import AppError, Conflict, Invalid
from app.extensions import db
from app.http.body import RAW
from app.models.base import moment
from app.models.idempotency import IdempotencyKey

HEADER, MAX_LENGTH = "Idempotency-Key", 255
KEPT = timedelta(hours=24)
ABANDONED_AFTER = timedelta(minutes=5)

REPEATED = ("Link",)
"""What a view says in headers; all others are made for each answer, or are nobody's to keep, as cookies."""


class KeyReused(AppError):
    """The same key with another request (422)."""

    status, code, message = 422, "IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for another request"


class Claim:
    """One request's hold on its key."""

    def __init__(self, user_id: str, route: str, key: str, request_hash: str) -> None:
        self.where = (
            IdempotencyKey.user_id == user_id,
            IdempotencyKey.route == route,
            IdempotencyKey.key == key,
        )
        self.values = {"user_id": user_id, "route": route, "key": key, "request_hash": request_hash}

    def take(self) -> Response | None:
        """Claim the key, or return the first answer.

        Raises:
            KeyReused: the key was used for another request.
            Conflict: the first request is still running.
        """
        now = moment()
        with db.engine.begin() as connection:
            connection.execute(
                sa.delete(IdempotencyKey).where(
                    *self.where,
                    sa.or_(
                        IdempotencyKey.expires_at < now,
                        sa.and_(IdempotencyKey.status.is_(None), IdempotencyKey.created_at < now - ABANDONED_AFTER),
                    ),
                )
            )
            try:
                with connection.begin_nested():
                    connection.execute(
                        sa.insert(IdempotencyKey).values(
                            **self.values, created_at=now, updated_at=now, expires_at=now + KEPT
                        )
                    )
            except sa.exc.IntegrityError:
                found = connection.execute(sa.select(IdempotencyKey.__table__).where(*self.where)).one()
            else:
                return None
        return self._first_answer(found)

    def _first_answer(self, found: sa.Row[tuple[object, ...]]) -> Response:
        row = found._mapping
        if row["request_hash"] != self.values["request_hash"]:
            raise KeyReused
        if row["status"] is None:
            raise Conflict("The first request with this Idempotency-Key is still running", code="STILL_RUNNING")
        headers = {**(row["headers"] or {}), "Idempotency-Replayed": "true"}
        return Response(row["body"], row["status"], headers, mimetype="application/json")

    def keep(self, response: Response) -> None:
        """Keep the answer, in the running transaction; what is sent while it is made cannot be kept and frees the key."""
        if response.is_streamed:
            db.session.execute(sa.delete(IdempotencyKey).where(*self.where))
            return
        db.session.execute(
            sa.update(IdempotencyKey)
            .where(*self.where)
            .values(
                status=response.status_code,
                headers={name: response.headers[name] for name in REPEATED if name in response.headers},
                body=response.get_data(),
                updated_at=moment(),
            )
        )

    def release(self) -> None:
        """Free the key: the request failed and had no effect, so it may be tried again."""
        with db.engine.begin() as connection:
            connection.execute(sa.delete(IdempotencyKey).where(*self.where, IdempotencyKey.status.is_(None)))


def claim_for(request: Request, user_id: str | None) -> Claim | None:
    """The claim of a request that carries a key; None without one. Raises Invalid for an unusable key."""
    key = request.headers.get(HEADER)
    if key is None or user_id is None or request.method in ("GET", "HEAD", "OPTIONS"):
        return None
    if not 1 <= len(key) <= MAX_LENGTH or not key.isprintable():
        raise Invalid.field(HEADER, f"The key must have 1 to {MAX_LENGTH} printable characters")
    body = request.environ.get(RAW, b"")
    digest = hashlib.sha256(request.full_path.encode() + b"\0" + body).hexdigest()
    return Claim(user_id, f"{request.method} {request.url_rule}"[:255], key, digest)


def run(claim: Claim | None, work: Callable[[], Response]) -> Response:
    """Do the work once for its key; the work commits through `keep` being called before its commit."""
    if claim is None:
        return work()
    replay = claim.take()
    if replay is not None:
        return replay
    try:
        return work()
    except BaseException:
        db.session.rollback()
        claim.release()
        raise
