"""The table of API tokens: personal tokens and service accounts."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, foreign_key, id_column


class ApiToken(Timestamps, Base):
    """A bearer token for programs. Only the SHA-256 of the secret is stored.

    `user_id` is the owner: every request has at most the rights of this user. A service account belongs to
    `organization_id`; its owner is the member who created, changed or rotated it last. `projects` are the ids of the
    permitted projects, or null for all. `issued_at` is the time of the present secret.
    """

    __tablename__ = "api_tokens"

    id: Mapped[str] = id_column("tok")
    user_id: Mapped[str] = foreign_key("users.id")
    organization_id: Mapped[str | None] = foreign_key("organizations.id")
    name: Mapped[str] = mapped_column(sa.String(80))
    token_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    token_hint: Mapped[str] = mapped_column(sa.String(8))
    scopes: Mapped[list[Any]] = mapped_column(sa.JSON())
    projects: Mapped[list[Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
