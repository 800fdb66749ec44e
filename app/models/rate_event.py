"""The table of counted events for the rates per hour and per day."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, id_column, utcnow_ms


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
