"""Tables of authentication: sessions, sign-in methods, one-time codes, pending sign-ins and API tokens."""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.limits import TextLengths
from app.models.base import Base, Timestamps, enum_column, foreign_key, id_column
from app.models.user import User


class Session(Timestamps, Base):
    """A signed-in browser. Only the SHA-256 of the token is stored.

    `second_factor_at` is the time at which the user proved a second factor, or signed in in a trusted device.
    `reauthenticated_at` is the time at which the user proved the identity again, if it was after the sign-in.
    """

    __tablename__ = "sessions"

    id: Mapped[str] = id_column("ses")
    user_id: Mapped[str] = foreign_key("users.id")
    token_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    expires_at: Mapped[datetime]
    idle_expires_at: Mapped[datetime]
    last_seen_at: Mapped[datetime]
    second_factor_at: Mapped[datetime | None]
    reauthenticated_at: Mapped[datetime | None]
    remember: Mapped[bool] = mapped_column(default=True)
    ip_address: Mapped[str | None] = mapped_column(sa.String(64))
    user_agent: Mapped[str | None] = mapped_column(sa.String(512))
    user: Mapped[User] = relationship(lazy="raise")


class SocialAccount(Timestamps, Base):
    """A social login that is linked to a user."""

    __tablename__ = "accounts"
    __table_args__ = (sa.UniqueConstraint("provider", "subject"), sa.UniqueConstraint("user_id", "provider"))

    id: Mapped[str] = id_column("acc")
    user_id: Mapped[str] = foreign_key("users.id")
    provider: Mapped[str] = mapped_column(sa.String(20))
    subject: Mapped[str] = mapped_column(sa.String(255))


class Passkey(Timestamps, Base):
    """A public key with which a user signs in. The authenticator of the user has the private key.

    `credential_id` and `public_key` are Base64 texts, the second one of a COSE key. `rp_id` is the domain for which the
    key was made. `is_synced` is the flag "backup eligible": the key may exist on several devices of the user.
    """

    __tablename__ = "passkeys"

    id: Mapped[str] = id_column("pky")
    user_id: Mapped[str] = foreign_key("users.id")
    name: Mapped[str | None] = mapped_column(sa.String(TextLengths.PASSKEY_NAME))
    rp_id: Mapped[str] = mapped_column(sa.String(255))
    credential_id: Mapped[str] = mapped_column(sa.Text, unique=True)
    public_key: Mapped[str]
    counter: Mapped[int] = mapped_column(sa.BigInteger)
    is_synced: Mapped[bool]
    backed_up: Mapped[bool]
    transports: Mapped[list[str]]
    aaguid: Mapped[str] = mapped_column(sa.String(36))
    last_used_at: Mapped[datetime | None]


class CodePurpose(StrEnum):
    """The purpose of a one-time code or token."""

    VERIFY_EMAIL = "verify_email"
    RESET_PASSWORD = "reset_password"  # noqa: S105 (a purpose, not a password)


class OneTimeCode(Timestamps, Base):
    """The newest code or token of an e-mail and a purpose, hashed, for a single use.

    A row also exists for an e-mail without an account, so that attempts count in the same way for unknown addresses.
    `sent_times` are the epoch seconds of the counted requests, comma-separated. `contested` is true after a second
    sign-up with another password before the e-mail was verified.
    """

    __tablename__ = "one_time_codes"
    __table_args__ = (sa.UniqueConstraint("email_key", "purpose"),)

    id: Mapped[str] = id_column("otc")
    email_key: Mapped[str]
    purpose: Mapped[CodePurpose] = enum_column(CodePurpose, "purpose")
    user_id: Mapped[str | None] = foreign_key("users.id")
    code_hash: Mapped[str | None] = mapped_column(sa.String(64), index=True)
    attempts: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    sent_times: Mapped[str] = mapped_column(default="")
    contested: Mapped[bool] = mapped_column(default=False)


class LoginAttempt(Timestamps, Base):
    """A pending social sign-in, provider connection or passkey: a state for a single use, bound to one browser."""

    __tablename__ = "login_attempts"

    id: Mapped[str] = id_column("lat")
    state_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    browser_hash: Mapped[str] = mapped_column(sa.String(64))
    provider: Mapped[str] = mapped_column(sa.String(20))
    code_verifier: Mapped[str | None]
    nonce: Mapped[str | None]
    callback_url: Mapped[str]
    error_callback_url: Mapped[str | None]
    user_id: Mapped[str | None] = foreign_key("users.id")
    expires_at: Mapped[datetime]


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
    name: Mapped[str] = mapped_column(sa.String(TextLengths.TOKEN_NAME))
    token_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    token_hint: Mapped[str] = mapped_column(sa.String(8))
    scopes: Mapped[list[str]] = mapped_column(sa.JSON())
    projects: Mapped[list[str] | None] = mapped_column(sa.JSON(none_as_null=True))
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
