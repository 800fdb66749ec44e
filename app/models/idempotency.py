"""The table of stored first responses to requests with an idempotency key."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps


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
