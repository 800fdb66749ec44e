"""Tables of credentials for Git hosts, of pending token revocations and of received notifications.

Secrets are AES-256-GCM ciphertexts bound to their row and field.
"""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, enum_column, foreign_key, id_column, utcnow_ms
from app.models.project import Provider


class CredentialStatus(StrEnum):
    """The status of a credential at its host."""

    ACTIVE = "active"
    NEEDS_RECONNECT = "needs_reconnect"


class GitCredential(Timestamps, Base):
    """The credential of a user at a provider.

    Columns ending in `_secret` hold ciphertexts, those with `hash` SHA-256.

    `generation` counts the tokens of the row. A refresh overwrites only the generation that it read.
    """

    __tablename__ = "git_credentials"
    __table_args__ = (sa.UniqueConstraint("user_id", "provider"),)

    id: Mapped[str] = id_column("cred")
    user_id: Mapped[str] = foreign_key("users.id", index=False)
    provider: Mapped[Provider] = enum_column(Provider, "provider")
    account_id: Mapped[str | None]
    account_login: Mapped[str | None]
    account_name: Mapped[str | None]
    token_type: Mapped[str] = mapped_column(sa.String(40), default="bearer")
    scopes: Mapped[list[str]] = mapped_column(default=list)
    installation_id: Mapped[str | None] = mapped_column(sa.String(40), index=True)
    access_token_secret: Mapped[str | None]
    refresh_token_secret: Mapped[str | None]
    installation_token_secret: Mapped[str | None]
    access_token_expires_at: Mapped[datetime | None]
    refresh_token_expires_at: Mapped[datetime | None]
    installation_token_expires_at: Mapped[datetime | None]
    refresh_hash: Mapped[str | None] = mapped_column(sa.String(64))
    previous_refresh_hashes: Mapped[list[str]] = mapped_column(default=list)
    generation: Mapped[int] = mapped_column(default=0)
    refreshing_until: Mapped[datetime | None]
    last_refreshed_at: Mapped[datetime | None]
    token_hint: Mapped[str | None] = mapped_column(sa.String(4))
    status: Mapped[CredentialStatus] = enum_column(
        CredentialStatus, "credential_status", default=CredentialStatus.ACTIVE
    )


class GitRevocation(Timestamps, Base):
    """A token that no row uses and that must be revoked at its host."""

    __tablename__ = "git_revocations"

    id: Mapped[str] = id_column("rev")
    provider: Mapped[Provider] = enum_column(Provider, "provider")
    kind: Mapped[str] = mapped_column(sa.String(20))
    token_secret: Mapped[str]


class GitDelivery(Base):
    """A processed notification of a Git host."""

    __tablename__ = "git_deliveries"

    provider: Mapped[str] = mapped_column(sa.String(20), primary_key=True)
    delivery: Mapped[str] = mapped_column(sa.String(64), primary_key=True)
    received_at: Mapped[datetime] = mapped_column(default=utcnow_ms, index=True)
