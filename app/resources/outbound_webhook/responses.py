"""Response dictionaries of webhooks and deliveries."""

from datetime import datetime

from app.core.clock import iso
from app.models.outbound_webhook import DeliveryState, WebhookAttempt, WebhookEndpoint, WebhookFormat
from app.resources.outbound_webhook import delivery, signing
from app.resources.outbound_webhook.queries import DeliveryDetails, DeliveryRow
from app.resources.outbound_webhook.service import SignedWebhook
from app.security.secrets import Keyring, TamperedSecret

Shown = dict[str, object]


def shown(endpoint: WebhookEndpoint, ring: Keyring) -> Shown:
    """Return a webhook. The URL of a deploy hook is not shown."""
    return {
        "id": endpoint.id,
        "org_id": endpoint.organization_id,
        "project_id": endpoint.project_id,
        "format": endpoint.format,
        "url": _url(endpoint, ring),
        "host": endpoint.host,
        "events": endpoint.events,
        "description": endpoint.description,
        "state": endpoint.state,
        "disabled_reason": endpoint.disabled_reason,
        "failing_since": _time(endpoint.failing_since),
        "createdAt": iso(endpoint.created_at),
        "updatedAt": iso(endpoint.updated_at),
    }


def signed(issued: SignedWebhook, ring: Keyring) -> Shown:
    """Return a webhook with its secret."""
    return shown(issued.row, ring) | {"secret": issued.secret}


def item(row: DeliveryRow) -> Shown:
    """Return a delivery of a list."""
    delivery, event_type, project_id, sequence = row
    return {
        "id": delivery.id,
        "message_id": delivery.message_id,
        "type": event_type,
        "project_id": project_id,
        "sequence": sequence,
        "state": delivery.state,
        "attempt_count": delivery.attempts,
        "next_at": iso(delivery.next_at) if delivery.state == DeliveryState.WAITING else None,
        "createdAt": iso(delivery.created_at),
    }


def detailed(details: DeliveryDetails, endpoint: WebhookEndpoint) -> Shown:
    """Return a delivery with its request and attempts."""
    last = details.attempts[0].created_at if details.attempts else None
    timestamp = None if last is None else int(last.timestamp())
    is_standard = endpoint.format == WebhookFormat.STANDARD
    body = details.body if is_standard or details.body is None else b""
    return item(details.row) | {
        "headers": delivery.headers_of(endpoint.format, details.row[0].message_id, timestamp),
        "body": None if body is None else body.decode(),
        "attempts": [_attempt(attempt) for attempt in details.attempts],
    }


def _attempt(attempt: WebhookAttempt) -> Shown:
    return {
        "createdAt": iso(attempt.created_at),
        "status": attempt.status,
        "error": attempt.error,
        "duration_ms": attempt.duration_ms,
        "response": attempt.response,
    }


def _url(endpoint: WebhookEndpoint, ring: Keyring) -> str | None:
    if endpoint.format == WebhookFormat.EMPTY:
        return None
    try:
        return signing.open_sealed(ring, endpoint.id, signing.URL, endpoint.url_secret)
    except TamperedSecret:
        return None


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
