"""Rows of review links: creation, renewal, revocation, and the links that are active."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from app.core.errors import ErrorMessage, LimitReached, TooManyRequests
from app.core.ids import HasId
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet, ChangeSetComment, ChangeSetReview
from app.models.review_link import HOST_KEY_LENGTH, LinkRights, ReviewLink
from app.resources.change_set.actions import REPEATED_WITHIN
from app.resources.review_link.errors import LinkEnded
from app.security.secrets import Keyring, SecretFields, associated_data, hash_token, new_token

MAX_ACTIVE, MAX_DAYS = 20, 30
MAX_TRIES, TRIES_FOR = 5, timedelta(minutes=15)
MAX_WRITES = 30
"""The comments and reviews of the guests of a link in an hour."""

FIELD = "address"
SECRETS: SecretFields = (ReviewLink, (FIELD,))
"""The encrypted column, for a change of the key."""

SAME = ("rights", "commit_sha", "receiver", "message", "blocks_hosts")


@dataclass(frozen=True)
class LinkOptions:
    """The settings of a link. `commit_sha` is the commit that it shows; without one it shows the present head."""

    rights: LinkRights
    days: int
    commit_sha: str | None = None
    receiver: str | None = None
    message: str | None = None
    blocks_hosts: bool = False


def create(
    row: ChangeSet, options: LinkOptions, password_hash: str | None, *, by: HasId, ring: Keyring
) -> tuple[ReviewLink, bool]:
    """Return the active link of a locked set with the same settings, with the new expiry, or a new one and True.

    A link with a password is always new. Raises LimitReached.
    """
    expires_at = utcnow_ms() + timedelta(days=options.days)
    values = {name: getattr(options, name) for name in SAME}
    active = sa.select(ReviewLink).where(ReviewLink.change_set_id == row.id, ReviewLink.is_active)
    if password_hash is None:
        same = active.where(ReviewLink.password_hash.is_(None)).filter_by(user_id=by.id, **values)
        link = db.session.scalar(same.order_by(ReviewLink.id).limit(1))
        if link is not None:
            link.expires_at = max(link.expires_at, expires_at)
            return link, False
    if (db.session.scalar(sa.select(sa.func.count()).select_from(active.subquery())) or 0) >= MAX_ACTIVE:
        raise LimitReached(ErrorMessage("A set of changes can have at most %(count)s active links", count=MAX_ACTIVE))
    secret = new_token()
    link = ReviewLink(
        change_set_id=row.id,
        user_id=by.id,
        secret_hash=hash_token(secret),
        address_secret="",
        host_key=secrets.token_hex(HOST_KEY_LENGTH // 2),
        password_hash=password_hash,
        expires_at=expires_at,
        **values,
    )
    db.session.add(link)
    db.session.flush()
    link.address_secret = ring.encrypt(secret, aad=associated_data(ReviewLink.__tablename__, link.id, FIELD))
    db.session.flush()
    return link, True


def secret_of(link: ReviewLink, ring: Keyring) -> str:
    """Return the secret of a link. Raises TamperedSecret."""
    return ring.decrypt(link.address_secret, aad=associated_data(ReviewLink.__tablename__, link.id, FIELD))


def begin_try(link_id: str) -> bool:
    """Count a password before it is compared. Return False if the link has had too many wrong ones."""
    now = utcnow_ms()
    is_over = sa.or_(ReviewLink.tries_until.is_(None), ReviewLink.tries_until <= now)
    values = {
        "tries": sa.case((is_over, 1), else_=ReviewLink.tries + 1),
        "tries_until": sa.case((is_over, now + TRIES_FOR), else_=ReviewLink.tries_until),
    }
    counted = sa.update(ReviewLink).where(ReviewLink.id == link_id, sa.or_(is_over, ReviewLink.tries < MAX_TRIES))
    return db.session.scalar(counted.values(**values).returning(ReviewLink.id)) is not None


def clear_tries(link_id: str) -> None:
    """Delete the count of a link after the right password."""
    db.session.execute(sa.update(ReviewLink).where(ReviewLink.id == link_id).values(tries=0, tries_until=None))


def repeated_comment(link: ReviewLink, name: str, body: str, page: object) -> str | None:
    """Return the id of the same comment of a guest from the last minute, or None: a form that was sent twice."""
    same = sa.select(ChangeSetComment.id).filter_by(link_id=link.id, guest_name=name, body=body, page=page)
    return db.session.scalar(same.where(ChangeSetComment.created_at > utcnow_ms() - REPEATED_WITHIN).limit(1))


def check_active(link: ReviewLink) -> None:
    """Check that the link has not ended since the request began. The set is locked. Raises LinkEnded."""
    if not db.session.get_one(ReviewLink, link.id, populate_existing=True).is_active:
        raise LinkEnded


def check_rate(link: ReviewLink) -> None:
    """Check that the guests of a link may write. The set is locked. Raises TooManyRequests."""
    since = utcnow_ms() - timedelta(hours=1)
    written = sum(
        db.session.scalar(
            sa.select(sa.func.count()).where(
                table.link_id == link.id, table.guest_name.is_not(None), table.created_at > since
            )
        )
        or 0
        for table in (ChangeSetComment, ChangeSetReview)
    )
    if written >= MAX_WRITES:
        raise TooManyRequests(ErrorMessage("This link has sent too many comments in an hour. Try again later"))


def count_guest(link_id: str) -> None:
    """Count a guest who gave a name."""
    counted = {"opened": ReviewLink.opened + 1, "opened_at": utcnow_ms()}
    db.session.execute(sa.update(ReviewLink).where(ReviewLink.id == link_id).values(**counted))
