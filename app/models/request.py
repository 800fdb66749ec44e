"""Tables of requests: first responses to idempotency keys, and counted events of the rates per hour and per day."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, id_column, utcnow_ms


class IdempotencyKey(Timestamps, Base):
    """The response to a user's request with a key. The request is running while `status` is empty."""

    __tablename__ = "idempotency_keys"

    user_id: Mapped[str] = mapped_column(sa.String(40), sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    route: Mapped[str] = mapped_column(sa.String(255), primary_key=True)
    key: Mapped[str] = mapped_column(sa.String(255), primary_key=True)
    request_hash: Mapped[str] = mapped_column(sa.String(64))
    status: Mapped[int | None]
    headers: Mapped[dict[str, str] | None] = mapped_column(sa.JSON(none_as_null=True))
    body: Mapped[bytes | None] = mapped_column(sa.LargeBinary)
    expires_at: Mapped[datetime] = mapped_column(index=True)


class RateEvent(Base):
    """A request that counts in a row of the rate-limit table; `key` is the hash of a user, account or address."""

    __tablename__ = "rate_events"
    __table_args__ = (
        sa.Index("ix_rate_events_name_key_created_at", "name", "key", "created_at"),
        sa.Index("ix_rate_events_created_at", "created_at"),
    )

    id: Mapped[str] = id_column("rte")
    name: Mapped[str] = mapped_column(sa.String(40))
    key: Mapped[str] = mapped_column(sa.String(24))
    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)
