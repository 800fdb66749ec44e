"""Delivery of the messages of one endpoint, one after another.

Order is kept while no attempt fails. A failed message waits for its next attempt and does not hold the others.
"""

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import sqlalchemy as sa

from app.core.limits import WebhookLimits
from app.core.urls import HttpUrl, parse_http_url
from app.database import transactions
from app.drivers.http.pinned import PinnedCallFailed, PinnedClient
from app.extensions import db, keyring
from app.models.base import utcnow_ms
from app.models.outbound_webhook import (
    DeliveryState,
    DisabledReason,
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookFormat,
    WebhookMessage,
    WebhookState,
)
from app.resources.outbound_webhook import endpoint_state, messages, signing
from app.security.secrets import TamperedSecret

RUN_S = 5.0
"""No attempt starts later in a run. An attempt takes 20 s, and a worker that stops waits 25 s for its runs."""
DATABASE_RUNS = 2
"""Runs of a worker that use the database at the same time. The others wait for their receivers."""
DELAYS = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
)
"""The pause before each attempt of a message (Standard Webhooks 1.0.0)."""
JITTER = 0.1
MAX_RETRY_AFTER = timedelta(hours=24)
FAILURES_BEFORE_PAUSE, FIRST_PAUSE_S, MAX_PAUSE_S = 5, 5, 600
"""After five failures in a row, attempts for an endpoint have growing pauses: a dead one needs few threads."""
BUSY_PAUSE = timedelta(seconds=1)
MAX_DUE = 20
UNREADABLE = "secret_unreadable"
USER_AGENT = "Galley-Webhooks/1.0"
INTERVAL = timedelta(seconds=WebhookLimits.deploy_interval_s)

_D, _M = WebhookDelivery, WebhookMessage
_database = threading.BoundedSemaphore(DATABASE_RUNS)
_WAITING = (_D.endpoint_id == sa.bindparam("endpoint_id"), _D.state == DeliveryState.WAITING)


@dataclass(frozen=True)
class Call:
    """One attempt of a delivery. `url` is None if a secret cannot be decrypted."""

    delivery_id: str
    endpoint_id: str
    format: WebhookFormat
    url: HttpUrl | None
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Outcome:
    """The result of an attempt: a status, or an error."""

    duration_ms: int
    status: int | None = None
    error: str | None = None
    retry_after: str | None = None
    response: str | None = None

    @property
    def is_success(self) -> bool:
        """True if the endpoint has accepted the message."""
        return self.status is not None and 200 <= self.status < 300


def run(endpoint_id: str, client: PinnedClient) -> None:
    """Deliver the messages of an endpoint that are due, for a few seconds, and enqueue what follows."""
    with _database:
        _run(endpoint_id, client, until=time.monotonic() + RUN_S)


def _run(endpoint_id: str, client: PinnedClient, *, until: float) -> None:
    organization_id = db.session.scalar(sa.select(WebhookEndpoint.organization_id).filter_by(id=endpoint_id))
    if organization_id is None:
        return
    with client.calls.slot(organization_id) as is_free:
        while is_free and (call := _next_call(endpoint_id)) is not None:
            _record(call, _send(call, client))
            if time.monotonic() > until:
                break
    with transactions.write_transaction():
        _enqueue_next(endpoint_id, not_before=utcnow_ms() + (timedelta(0) if is_free else BUSY_PAUSE))


def headers_of(endpoint_format: WebhookFormat, message_id: str, timestamp: int | None) -> dict[str, str]:
    """Return the headers of a call without the signature."""
    if endpoint_format == WebhookFormat.EMPTY:
        return {"User-Agent": USER_AGENT}
    dated = {} if timestamp is None else {"webhook-timestamp": str(timestamp)}
    return {"User-Agent": USER_AGENT, "Content-Type": "application/json", "webhook-id": message_id, **dated}


def _next_call(endpoint_id: str) -> Call | None:
    """Return the next attempt that is due, or None."""
    endpoint, now = db.session.get(WebhookEndpoint, endpoint_id, populate_existing=True), utcnow_ms()
    if endpoint is None or endpoint.state != WebhookState.ACTIVE:
        return None
    if endpoint.blocked_until is not None and endpoint.blocked_until > now:
        return None
    if endpoint.format == WebhookFormat.EMPTY:
        delivery_id = _claim_deploy_call(endpoint_id)
    else:
        delivery_id = _first_due(endpoint_id, now)
    return None if delivery_id is None else _call_of(endpoint, delivery_id)


def _first_due(endpoint_id: str, now: datetime) -> str | None:
    """Return the delivery that is due first.

    Clocks of several nodes differ, so first attempts of one project have the order of their numbers.
    """
    rows = db.session.execute(
        sa.select(_D.id, _D.attempts, _M.project_id, _M.sequence)
        .join(_M, _M.id == _D.message_id)
        .where(*_WAITING, _D.next_at <= now)
        .order_by(_D.next_at, _D.id)
        .limit(MAX_DUE),
        {"endpoint_id": endpoint_id},
    ).all()
    if not rows:
        return None
    first = rows[0]
    if first.attempts == 0 and first.sequence is not None:
        of_project = (row for row in rows if row.attempts == 0 and row.project_id == first.project_id)
        first = min(of_project, key=lambda row: row.sequence)
    return str(first.id)


def _claim_deploy_call(endpoint_id: str) -> str | None:
    """Return the newest waiting call of a deploy hook if it is due, and record its time. Discard the older ones.

    An event that is published from now on needs another call.
    """
    with transactions.write_transaction():
        endpoint, now = endpoint_state.locked(endpoint_id), utcnow_ms()
        rows = db.session.scalars(
            sa.select(_D).where(*_WAITING).order_by(_D.id.desc()).with_for_update(), {"endpoint_id": endpoint_id}
        ).all()
        if endpoint is None or not rows:
            return None
        newest, *older = rows
        for delivery in older:
            delivery.state = DeliveryState.DISCARDED
        if endpoint.called_at is not None:
            newest.next_at = max(newest.next_at, endpoint.called_at + INTERVAL)
        if newest.next_at > now:
            return None
        newest.called_at = now
        endpoint_state.change(endpoint_id, called_at=now)
        return newest.id


def _call_of(endpoint: WebhookEndpoint, delivery_id: str) -> Call | None:
    """Return the attempt of a delivery, or None if it was deleted."""
    row = db.session.execute(
        sa.select(_M.id, _M.body).join(_D, _D.message_id == _M.id).where(_D.id == delivery_id)
    ).one_or_none()
    if row is None:
        return None
    timestamp, body = int(utcnow_ms().timestamp()), row.body or b""
    headers = headers_of(endpoint.format, row.id, timestamp)
    try:
        url = parse_http_url(signing.open_sealed(keyring, endpoint.id, signing.URL, endpoint.url_secret))
        if endpoint.format == WebhookFormat.STANDARD:
            headers["webhook-signature"] = signing.signatures(endpoint, row.id, timestamp, body, ring=keyring)
        else:
            body = b""
    except TamperedSecret:
        url = None
    return Call(delivery_id, endpoint.id, endpoint.format, url, headers, body)


def _send(call: Call, client: PinnedClient) -> Outcome:
    if call.url is None:
        return Outcome(0, error=UNREADABLE)
    start = time.monotonic()
    try:
        with transactions.outside_transaction():
            _database.release()
            try:
                response = client.post(call.url, call.headers, call.body)
            finally:
                _database.acquire()
    except PinnedCallFailed as failure:
        return Outcome(_since_ms(start), error=str(failure.reason))
    # A deploy hook may repeat its URL, which is a secret.
    text = _text(response.body) if call.format == WebhookFormat.STANDARD else None
    return Outcome(_since_ms(start), response.status, None, response.retry_after, text)


def _text(body: bytes) -> str:
    """Return the start of a response. PostgreSQL does not accept NUL in text."""
    return body.decode(errors="replace").replace("\0", "\ufffd")[: WebhookLimits.response_characters]


def _since_ms(start: float) -> int:
    return round((time.monotonic() - start) * 1000)


def _record(call: Call, outcome: Outcome) -> None:
    """Store an attempt and its effect on the delivery and the endpoint."""
    with transactions.write_transaction():
        endpoint = endpoint_state.locked(call.endpoint_id)
        delivery = db.session.get(WebhookDelivery, call.delivery_id, with_for_update=True, populate_existing=True)
        if endpoint is None or delivery is None:
            return
        db.session.add(
            WebhookAttempt(
                delivery_id=delivery.id,
                status=outcome.status,
                error=outcome.error,
                duration_ms=outcome.duration_ms,
                response=outcome.response,
            )
        )
        if outcome.is_success:
            delivery.state = DeliveryState.DELIVERED
            delivery.attempts += 1
            if endpoint.failures:
                endpoint_state.change(endpoint.id, failures=0, failing_since=None, blocked_until=None)
        else:
            _record_failure(endpoint, delivery, outcome)


def _record_failure(endpoint: WebhookEndpoint, delivery: WebhookDelivery, outcome: Outcome) -> None:
    now = utcnow_ms()
    since, failures = endpoint.failing_since or now, endpoint.failures + 1
    pause_s = _pause_s(failures)
    blocked_until = None if pause_s == 0 else now + timedelta(seconds=pause_s)
    endpoint_state.change(endpoint.id, failures=failures, failing_since=since, blocked_until=blocked_until)
    if delivery.state == DeliveryState.WAITING:
        delivery.attempts += 1
        delay = _delay(delivery.attempts, outcome)
        if delay is None:
            delivery.state = DeliveryState.FAILED
        else:
            delivery.next_at = now + delay
    if endpoint.state != WebhookState.DISABLED:
        if outcome.status == HTTPStatus.GONE:
            endpoint_state.disable(endpoint, DisabledReason.REFUSED)
        elif now - since >= timedelta(seconds=WebhookLimits.failing_s):
            endpoint_state.disable(endpoint, DisabledReason.FAILING)


def _pause_s(failures: int) -> int:
    exponent = failures - FAILURES_BEFORE_PAUSE
    return 0 if exponent < 0 else min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** min(exponent, 10))


def _delay(attempts: int, outcome: Outcome) -> timedelta | None:
    """Return the pause before the next attempt, or None after the last one."""
    if attempts >= len(DELAYS):
        return None
    # Jitter spreads the retries of messages that failed at the same time. The value is not security-relevant.
    delay = DELAYS[attempts] * (1 + random.uniform(0, JITTER))  # noqa: S311
    return max(delay, _requested_delay(outcome.retry_after))


def _requested_delay(header: str | None) -> timedelta:
    """Return the pause of a `Retry-After` header, in seconds or as a date, at most 24 h."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        delay = timedelta(seconds=min(int(text[:9]), MAX_RETRY_AFTER.total_seconds()))
    else:
        try:
            delay = parsedate_to_datetime(text) - utcnow_ms()
        except (TypeError, ValueError, OverflowError):  # It is no date, an impossible one, or one without a zone.
            delay = timedelta(0)
    return min(max(delay, timedelta(0)), MAX_RETRY_AFTER)


def _enqueue_next(endpoint_id: str, *, not_before: datetime) -> None:
    """Enqueue the next run of an endpoint. Delete a closing endpoint whose messages are delivered."""
    endpoint = db.session.get(WebhookEndpoint, endpoint_id, populate_existing=True)
    if endpoint is None:
        return
    next_at = db.session.scalar(
        sa.select(_D.next_at).where(*_WAITING).order_by(_D.next_at).limit(1), {"endpoint_id": endpoint_id}
    )
    if next_at is not None and endpoint.state == WebhookState.ACTIVE:
        at = max(next_at, not_before, endpoint.blocked_until or next_at)
        messages.enqueue_delivery(endpoint_id, at=at, now=utcnow_ms())
    elif next_at is None and endpoint.is_closing:
        endpoint_state.delete(endpoint_id)
