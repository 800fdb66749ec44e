"""The table of review links: addresses that admit a guest without an account to one change set."""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import SHA_LENGTH, Base, Timestamps, enum_column, foreign_key, id_column, utcnow_ms


class LinkRights(StrEnum):
    """The rights of a guest. Each contains the ones before it."""

    VIEW = "view"
    COMMENT = "comment"
    APPROVE = "approve"


HOST_KEY_LENGTH = 24


class ReviewLink(Timestamps, Base):
    """A review link of a change set, made by the user `user_id`.

    `secret_hash` is the SHA-256 of the secret in its address, and `address_secret` the encrypted secret, for those who
    copy the address again. `host_key` is the second part of the host names of the builds that it opens. With a
    `commit_sha` it shows that commit, else the present head of the set. With `blocks_hosts`, the built site loads
    nothing from other hosts. `opened` counts the guests who gave a name, and `tries` the wrong passwords until
    `tries_until`.
    """

    __tablename__ = "review_links"

    id: Mapped[str] = id_column("rvl")
    change_set_id: Mapped[str] = foreign_key("change_sets.id")
    user_id: Mapped[str | None] = foreign_key("users.id", ondelete="SET NULL")
    secret_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    address_secret: Mapped[str] = mapped_column(sa.Text)
    host_key: Mapped[str] = mapped_column(sa.String(HOST_KEY_LENGTH), unique=True)
    rights: Mapped[LinkRights] = enum_column(LinkRights, "review_link_rights")
    commit_sha: Mapped[str | None] = mapped_column(sa.String(SHA_LENGTH))
    receiver: Mapped[str | None]
    message: Mapped[str | None]
    password_hash: Mapped[str | None]
    tries: Mapped[int] = mapped_column(default=0)
    tries_until: Mapped[datetime | None]
    blocks_hosts: Mapped[bool] = mapped_column(default=False)
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    opened: Mapped[int] = mapped_column(default=0)
    opened_at: Mapped[datetime | None]

    @hybrid_property
    def is_active(self) -> bool:
        """True if the link was not revoked and has not expired. The class attribute is a condition of statements."""
        return self.revoked_at is None and self.expires_at > utcnow_ms()

    @is_active.inplace.expression
    @classmethod
    def _is_active(cls) -> sa.ColumnElement[bool]:
        return sa.and_(cls.revoked_at.is_(None), cls.expires_at > utcnow_ms())
