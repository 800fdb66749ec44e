"""Rules of webhooks: the check of a URL, creation, change, rotation, deletion, and messages that are sent again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import sqlalchemy as sa

from app.core import clock
from app.core.errors import AppError, Conflict, ErrorMessage, InvalidRequest, LimitReached, NotFound
from app.core.ids import new_id
from app.core.limits import WebhookLimits
from app.core.urls import HttpUrl, parse_http_url
from app.drivers.http.pinned import CallFailure, PinnedCallFailed, PinnedClient
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.organization import Organization
from app.models.outbound_webhook import (
    DeliveryState,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookFormat,
    WebhookMessage,
    WebhookState,
)
from app.models.project import Project
from app.resources.organization.locks import lock_organizations
from app.resources.outbound_webhook import endpoint_state, messages, signing
from app.resources.outbound_webhook.schemas.events import WEBHOOK_TEST
from app.security.secrets import Keyring

BODY_RETENTION = timedelta(seconds=WebhookLimits.body_retention_s)
NOT_SECURE = ErrorMessage("Must start with https://")
NOT_PUBLIC = ErrorMessage(
    "Must lead to public addresses. The operator can permit networks with WEBHOOK_ALLOWED_NETWORKS"
)
LOCAL_NAMES = ("localhost", ".localhost")


def recoverable_days() -> tuple[date, date]:
    """Return the first and the last day in UTC since which messages can be sent again."""
    today = clock.now().date()
    return today - BODY_RETENTION + timedelta(days=1), today


class BodyExpired(AppError):
    """A replay of a message whose body was deleted (410)."""

    status, code, message = 410, "BODY_EXPIRED", "The body of the message is no longer stored"


@dataclass(frozen=True)
class Destination:
    """A URL whose form and addresses were checked."""

    url: str = field(repr=False)
    parts: HttpUrl = field(repr=False)

    @property
    def host(self) -> str:
        """The host with the port if it is not the one of the scheme."""
        host = f"[{self.parts.host}]" if ":" in self.parts.host else self.parts.host
        return host if self.parts.port == (443 if self.parts.is_secure else 80) else f"{host}:{self.parts.port}"


@dataclass(frozen=True)
class SignedWebhook:
    """A webhook with its secret, which is stored encrypted and returned once. Deploy hooks have none."""

    row: WebhookEndpoint
    secret: str | None = field(repr=False)


def check_destination(url: str, client: PinnedClient) -> Destination:
    """Return the destination of a URL. A name that does not resolve yet is accepted.

    Each delivery checks the addresses again.

    Raises:
        InvalidRequest: the URL is not valid, or leads to an address that is not permitted.
    """
    parts = parse_http_url(url)
    if parts is None:
        raise InvalidRequest.field("url", NOT_SECURE)
    try:
        client.addresses_of(parts)
    except PinnedCallFailed as failure:
        is_unknown_name = failure.reason == CallFailure.NOT_RESOLVED and not _is_local(parts)
        if not parts.is_secure:
            raise InvalidRequest.field("url", NOT_SECURE) from failure
        if not is_unknown_name:
            raise InvalidRequest.field("url", NOT_PUBLIC) from failure
    return Destination(url, parts)


def _is_local(parts: HttpUrl) -> bool:
    return parts.host == LOCAL_NAMES[0] or parts.host.endswith(LOCAL_NAMES[1])


def create(
    organization: Organization,
    destination: Destination,
    *,
    endpoint_format: WebhookFormat,
    events: Sequence[str] | None,
    project_id: str | None,
    description: str | None,
    ring: Keyring,
    limits: WebhookLimits,
) -> SignedWebhook:
    """Create a webhook of an organization or of one of its projects.

    Raises:
        NotFound: the organization has no such project.
        LimitReached: the organization has the maximum number of webhooks.
    """
    lock_organizations(organization.id)
    _check_project(organization, project_id)
    mine = WebhookEndpoint.organization_id == organization.id
    if (db.session.scalar(sa.select(sa.func.count()).where(mine)) or 0) >= limits.endpoints:
        raise LimitReached(f"An organization has at most {limits.endpoints} webhooks")
    endpoint_id = new_id("whe")
    secret = signing.new_secret() if endpoint_format == WebhookFormat.STANDARD else None
    row = WebhookEndpoint(
        id=endpoint_id,
        organization_id=organization.id,
        project_id=project_id,
        format=endpoint_format,
        events=sorted(set(events or ())),
        description=description or "",
        host=destination.host,
        url_secret=signing.seal(ring, endpoint_id, signing.URL, destination.url),
        signing_secret=None if secret is None else signing.seal(ring, endpoint_id, signing.SIGNING, secret),
    )
    db.session.add(row)
    db.session.flush()
    return SignedWebhook(row, secret)


def update(
    endpoint: WebhookEndpoint,
    destination: Destination | None,
    *,
    events: Sequence[str] | None = None,
    description: str | None = None,
    state: WebhookState | None = None,
    ring: Keyring,
) -> WebhookEndpoint:
    """Change a webhook. The state `active` also ends a pause after failures.

    Raises:
        NotFound: another request deleted the webhook.
        InvalidRequest: a deploy hook has no events.
    """
    row = _locked(endpoint)
    if destination is not None:
        row.host, row.url_secret = destination.host, signing.seal(ring, row.id, signing.URL, destination.url)
        row.called_at = None  # The interval between two calls of a deploy hook is that of its URL.
    if events is not None:
        if row.format == WebhookFormat.EMPTY:
            raise InvalidRequest.field("events", "A webhook with the format empty has no events")
        row.events = sorted(set(events))
    if description is not None:
        row.description = description
    if state is not None:
        row.state, row.disabled_reason = state, None
    if state == WebhookState.ACTIVE:
        _resume(row)
    db.session.flush()
    return row


def rotate(endpoint: WebhookEndpoint, *, ring: Keyring) -> SignedWebhook:
    """Replace the signing secret. Messages have signatures of both secrets for 24 h.

    Raises:
        NotFound: another request deleted the webhook.
        Conflict: a deploy hook has no secret.
    """
    row = _locked(endpoint)
    if row.signing_secret is None:
        raise Conflict("A webhook with the format empty has no secret", code="NO_SECRET")
    secret, previous = signing.new_secret(), signing.open_sealed(ring, row.id, signing.SIGNING, row.signing_secret)
    row.previous_signing_secret = signing.seal(ring, row.id, signing.PREVIOUS, previous)
    row.signing_secret = signing.seal(ring, row.id, signing.SIGNING, secret)
    row.rotated_at = utcnow_ms()
    db.session.flush()
    return SignedWebhook(row, secret)


def delete(endpoint: WebhookEndpoint) -> str:
    """Delete a webhook with its deliveries, and return its id. Raises NotFound if another request deleted it."""
    endpoint_state.delete(_locked(endpoint).id)
    return endpoint.id


def send_test(endpoint: WebhookEndpoint) -> str:
    """Store a test message for a webhook and return the id of its delivery.

    Raises:
        NotFound: another request deleted the webhook.
    """
    return messages.publish_to(_locked(endpoint), WEBHOOK_TEST, {"webhook_id": endpoint.id})


def replay(endpoint: WebhookEndpoint, delivery: WebhookDelivery) -> str:
    """Send a message again, with the same id and bytes, and return the id of its delivery.

    Raises:
        NotFound: the delivery was deleted.
        BodyExpired: the body of the message is no longer stored.
    """
    row = _locked(endpoint)
    current = db.session.get(WebhookDelivery, delivery.id, with_for_update=True, populate_existing=True)
    if current is None:
        raise NotFound("The delivery does not exist")
    if db.session.scalar(sa.select(WebhookMessage.body.is_(None)).where(WebhookMessage.id == current.message_id)):
        raise BodyExpired
    current.state, current.next_at, current.attempts = DeliveryState.WAITING, utcnow_ms(), 0
    db.session.flush()
    _enqueue(row)
    return current.id


def recover(endpoint: WebhookEndpoint, since: datetime, *, limits: WebhookLimits) -> int:
    """Send the messages since a time again that failed at least once or were discarded, and return their number.

    The oldest ones are sent first. A pause after failures ends.

    Raises:
        NotFound: another request deleted the webhook.
        InvalidRequest: bodies are not stored for so long.
    """
    now, row = utcnow_ms(), _locked(endpoint)
    if since < now - BODY_RETENTION:
        raise InvalidRequest.field("since", f"Must be at most {BODY_RETENTION.days} days ago")
    ended = (
        sa.select(WebhookDelivery.id)
        .join(WebhookMessage, WebhookMessage.id == WebhookDelivery.message_id)
        .where(
            WebhookDelivery.endpoint_id == row.id,
            WebhookDelivery.created_at >= since,
            sa.or_(
                WebhookDelivery.state.in_((DeliveryState.FAILED, DeliveryState.DISCARDED)),
                (WebhookDelivery.state == DeliveryState.WAITING) & (WebhookDelivery.attempts > 0),
            ),
            WebhookMessage.body.is_not(None),
        )
        .order_by(WebhookDelivery.id)
        .limit(limits.recovered)
    )
    recovered = db.session.execute(
        sa.update(WebhookDelivery)
        .where(WebhookDelivery.id.in_(ended.scalar_subquery()))
        .values(state=DeliveryState.WAITING, next_at=WebhookDelivery.created_at, attempts=0)
        .returning(WebhookDelivery.id),
        execution_options={"synchronize_session": False},
    ).all()
    if recovered:
        _resume(row)
    return len(recovered)


def _resume(row: WebhookEndpoint) -> None:
    """End a pause after failures."""
    row.failures, row.failing_since, row.blocked_until = 0, None, None
    _enqueue(row)


def _enqueue(row: WebhookEndpoint) -> None:
    if row.state == WebhookState.ACTIVE:
        now = utcnow_ms()
        messages.enqueue_delivery(row.id, at=now, now=now)


def _locked(endpoint: WebhookEndpoint) -> WebhookEndpoint:
    row = endpoint_state.locked(endpoint.id)
    if row is None:
        raise NotFound("The webhook does not exist")
    return row


def _check_project(organization: Organization, project_id: str | None) -> None:
    if project_id is None:
        return
    statement = sa.select(Project.id).where(Project.id == project_id, Project.organization_id == organization.id)
    if db.session.scalar(statement.with_for_update(read=True, key_share=True)) is None:
        raise NotFound("The organization has no such project")
