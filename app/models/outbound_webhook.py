"""Tables of outbound webhooks: endpoints, messages, their deliveries and the attempts of each delivery."""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, Base, Timestamps, enum_column, foreign_key, id_column, utcnow_ms

TYPE_LENGTH = 40


class WebhookFormat(StrEnum):
    """The request that an endpoint receives: a signed message, or a call without a body for deploy hooks."""

    STANDARD = "standard"
    EMPTY = "empty"


class WebhookState(StrEnum):
    """The state of an endpoint. Messages of a paused endpoint wait, those of a disabled one are discarded."""

    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"


class DisabledReason(StrEnum):
    """The reason why the service disabled an endpoint."""

    REFUSED = "gone"
    """The endpoint responded with 410."""
    FAILING = "failing"


class DeliveryState(StrEnum):
    """The state of a delivery. Only a waiting one is sent."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    DISCARDED = "discarded"


class WebhookEndpoint(Timestamps, Base):
    """A URL that receives the messages of an organization, or those of one project.

    The id of the project is no foreign key: the endpoint of a deleted project first delivers its waiting messages
    (`is_closing`). Columns ending in `_secret` hold ciphertexts. `failures` counts failed attempts since the last
    success, and no attempt is made before `blocked_until`. `called_at` is the time of the last call of a deploy hook.
    """

    __tablename__ = "webhook_endpoints"

    id: Mapped[str] = id_column("whe")
    organization_id: Mapped[str] = foreign_key("organizations.id")
    project_id: Mapped[str | None] = mapped_column(sa.String(ID_LENGTH), index=True)
    format: Mapped[WebhookFormat] = enum_column(WebhookFormat, "webhook_format")
    events: Mapped[list[str]] = mapped_column(default=list)
    description: Mapped[str] = mapped_column(sa.String(200), default="")
    host: Mapped[str]
    url_secret: Mapped[str]
    signing_secret: Mapped[str | None]
    previous_signing_secret: Mapped[str | None]
    rotated_at: Mapped[datetime | None]
    state: Mapped[WebhookState] = enum_column(WebhookState, "webhook_state", default=WebhookState.ACTIVE)
    disabled_reason: Mapped[DisabledReason | None] = enum_column(DisabledReason, "disabled_reason", nullable=True)
    failures: Mapped[int] = mapped_column(default=0)
    failing_since: Mapped[datetime | None]
    blocked_until: Mapped[datetime | None]
    called_at: Mapped[datetime | None]
    is_closing: Mapped[bool] = mapped_column(default=False)


class WebhookMessage(Base):
    """An event with the exact bytes that endpoints receive. The body is deleted before the row."""

    __tablename__ = "webhook_messages"

    id: Mapped[str] = id_column("msg")
    organization_id: Mapped[str] = foreign_key("organizations.id")
    project_id: Mapped[str | None] = mapped_column(sa.String(ID_LENGTH))
    type: Mapped[str] = mapped_column(sa.String(TYPE_LENGTH))
    sequence: Mapped[int | None]
    body: Mapped[bytes | None]
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms, index=True)


class WebhookDelivery(Base):
    """A message for one endpoint. `attempts` counts those since the delivery began to wait.

    `called_at` is set before the first call of a deploy hook: a later event needs another call then.
    """

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        sa.UniqueConstraint("message_id", "endpoint_id"),
        sa.Index("ix_webhook_deliveries_endpoint_id_state_next_at", "endpoint_id", "state", "next_at"),
        sa.Index("ix_webhook_deliveries_endpoint_id_id", "endpoint_id", "id"),
    )

    id: Mapped[str] = id_column("dlv")
    message_id: Mapped[str] = foreign_key("webhook_messages.id", index=False)
    endpoint_id: Mapped[str] = foreign_key("webhook_endpoints.id", index=False)
    state: Mapped[DeliveryState] = enum_column(DeliveryState, "delivery_state", default=DeliveryState.WAITING)
    next_at: Mapped[datetime] = mapped_column(default=utcnow_ms)
    attempts: Mapped[int] = mapped_column(default=0)
    called_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)


class WebhookAttempt(Base):
    """One request of a delivery: the status and the start of the response, or the error."""

    __tablename__ = "webhook_attempts"

    id: Mapped[str] = id_column("att")
    delivery_id: Mapped[str] = foreign_key("webhook_deliveries.id")
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)
    status: Mapped[int | None]
    error: Mapped[str | None] = mapped_column(sa.String(40))
    duration_ms: Mapped[int]
    response: Mapped[str | None]


class WebhookProject(Base):
    """The number of the last message of a project, and whether its lost connection was reported."""

    __tablename__ = "webhook_projects"

    project_id: Mapped[str] = mapped_column(sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    sequence: Mapped[int] = mapped_column(default=0)
    is_disconnected: Mapped[bool] = mapped_column(default=False)
