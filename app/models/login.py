"""How people get in: sessions, social accounts, one-time codes and tokens, and sign-ins under way."""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.base import Base, Timestamps, id_column, reference, word_column
from app.models.user import User


class Session(Timestamps, Base):
    """A signed-in browser; only the token's SHA-256 is kept."""

    __tablename__ = "sessions"

    id: Mapped[str] = id_column("ses")
    user_id: Mapped[str] = reference("users.id")
    token_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    expires_at: Mapped[datetime]
    idle_expires_at: Mapped[datetime]
    last_seen_at: Mapped[datetime]
    remember: Mapped[bool] = mapped_column(default=True)
    ip_address: Mapped[str | None] = mapped_column(sa.String(64))
    user_agent: Mapped[str | None] = mapped_column(sa.String(512))
    user: Mapped[User] = relationship(lazy="raise")


class Account(Timestamps, Base):
    """A social login linked to a user."""

    __tablename__ = "accounts"
    __table_args__ = (sa.UniqueConstraint("provider", "subject"), sa.UniqueConstraint("user_id", "provider"))

    id: Mapped[str] = id_column("acc")
    user_id: Mapped[str] = reference("users.id")
    provider: Mapped[str] = mapped_column(sa.String(20))
    subject: Mapped[str] = mapped_column(sa.String(255))


class Purpose(StrEnum):
    """What a one-time code or token is good for."""

    VERIFY_EMAIL = "verify_email"
    RESET_PASSWORD = "reset_password"  # noqa: S105 (a purpose, not a password)


class OneTimeCode(Timestamps, Base):
    """The newest code or token of an e-mail and a purpose; hashed, single use.

    A row also stands for an e-mail without an account, so that attempts count alike whether it is known or not.
    `sent_times` are the epoch seconds of the requests that count, comma-separated; `contested` says that a second
    sign-up with another password came before the e-mail was verified.
    """

    __tablename__ = "one_time_codes"
    __table_args__ = (sa.UniqueConstraint("email_key", "purpose"),)

    id: Mapped[str] = id_column("otc")
    email_key: Mapped[str]
    purpose: Mapped[Purpose] = word_column(Purpose, "purpose")
    user_id: Mapped[str | None] = reference("users.id")
    code_hash: Mapped[str | None] = mapped_column(sa.String(64), index=True)
    attempts: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    sent_times: Mapped[str] = mapped_column(default="")
    contested: Mapped[bool] = mapped_column(default=False)


class LoginAttempt(Timestamps, Base):
    """A social sign-in or provider connection under way: its state, bound to one browser, used once."""

    __tablename__ = "login_attempts"

    id: Mapped[str] = id_column("lat")
    state_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    browser_hash: Mapped[str] = mapped_column(sa.String(64))
    provider: Mapped[str] = mapped_column(sa.String(20))
    code_verifier: Mapped[str | None]
    nonce: Mapped[str | None]
    callback_url: Mapped[str]
    user_id: Mapped[str | None] = reference("users.id")
    expires_at: Mapped[datetime]
