"""Tables of the second factor: factors, backup codes, sign-ins that wait for a factor, and trusted devices."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, Timestamps, foreign_key, id_column


class SecondFactor(Timestamps, Base):
    """The second factor of a user: an authenticator app, codes by mail, or both.

    `totp_secret` is encrypted. Without `confirmed_at` no code of the app was accepted yet, and the secret is for the
    session `prepared_in` only. `last_step` is the time step of the newest accepted code. `uses_mail` means that the
    user chose codes by mail. `reset_by` is the owner who has requested the mail with the token of `reset_hash`.
    """

    __tablename__ = "second_factors"

    id: Mapped[str] = id_column("sfa")
    user_id: Mapped[str] = mapped_column(sa.ForeignKey("users.id", ondelete="CASCADE"), unique=True)
    totp_secret: Mapped[str | None]
    prepared_in: Mapped[str | None] = mapped_column(sa.String(40))
    confirmed_at: Mapped[datetime | None]
    last_step: Mapped[int | None] = mapped_column(sa.BigInteger)
    uses_mail: Mapped[bool] = mapped_column(default=False)
    mail_code_hash: Mapped[str | None] = mapped_column(sa.String(64))
    mail_code_expires_at: Mapped[datetime | None]
    reset_hash: Mapped[str | None] = mapped_column(sa.String(64), unique=True)
    reset_expires_at: Mapped[datetime | None]
    reset_by: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")


class BackupCode(Base):
    """An unused backup code of a user, hashed. Its use deletes the row."""

    __tablename__ = "backup_codes"

    user_id: Mapped[str] = mapped_column(sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    code_hash: Mapped[str] = mapped_column(sa.String(64), primary_key=True)


class SecondFactorChallenge(Timestamps, Base):
    """A sign-in whose first factor was accepted, bound to one browser. The session deletes the row."""

    __tablename__ = "second_factor_challenges"

    id: Mapped[str] = id_column("sfc")
    user_id: Mapped[str] = foreign_key("users.id")
    token_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    remember: Mapped[bool]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class TrustedDevice(Timestamps, Base):
    """A browser in which the user signs in without the second factor until it expires."""

    __tablename__ = "trusted_devices"

    id: Mapped[str] = id_column("dev")
    user_id: Mapped[str] = foreign_key("users.id")
    token_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    ip_address: Mapped[str | None] = mapped_column(sa.String(64))
    user_agent: Mapped[str | None] = mapped_column(sa.String(512))
    expires_at: Mapped[datetime] = mapped_column(index=True)
    last_used_at: Mapped[datetime]
