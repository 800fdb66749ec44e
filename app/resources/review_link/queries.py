"""Statements that read review links and what they open, and the response of a link."""

from dataclasses import dataclass

import sqlalchemy as sa

from app.core.cursors import decode_cursor, paginate
from app.extensions import current_settings, db, keyring
from app.models.change_set import ChangeSet
from app.models.review_link import LinkRights, ReviewLink
from app.models.site_build import SiteBuild
from app.models.user import User
from app.resources.review_link import service
from app.resources.site_build.queries import LINKED_COMMITS

_CURSOR = "review_links"
PATH = "/review/"
Shown = dict[str, object]


def address_of(link: ReviewLink) -> str:
    """Return the address of a link. Raises TamperedSecret."""
    return f"{current_settings().server.base_url}{PATH}{service.secret_of(link, keyring)}"


def page(change_set: ChangeSet, *, cursor: str | None, limit: int) -> tuple[list[Shown], Shown]:
    """Return a page of the links of a set, newest first, and its `meta`. Raises InvalidRequest for the cursor."""
    where = [ReviewLink.change_set_id == change_set.id]
    total = db.session.scalar(sa.select(sa.func.count()).select_from(ReviewLink).where(*where)) or 0
    if cursor is not None:
        where.append(ReviewLink.id < decode_cursor(cursor, _CURSOR))
    statement = sa.select(ReviewLink, User.name).outerjoin(User, User.id == ReviewLink.user_id)
    listed = db.session.execute(statement.where(*where).order_by(ReviewLink.id.desc()).limit(limit + 1)).all()
    rows, following = paginate(listed, limit, _CURSOR, lambda row: row.ReviewLink.id)
    return [shown(link, name) for link, name in rows], {"next_cursor": following, "total": total}


def shown(link: ReviewLink, sender: str | None) -> Shown:
    """Return the response of a link. Only an active one has an address."""
    return {
        "id": link.id,
        "change_set_id": link.change_set_id,
        "state": "revoked" if link.revoked_at is not None else "active" if link.is_active else "expired",
        "rights": link.rights,
        "commit_sha": link.commit_sha,
        "receiver": link.receiver,
        "message": link.message,
        "has_password": link.password_hash is not None,
        "blocks_hosts": link.blocks_hosts,
        "opened": link.opened,
        "opened_at": link.opened_at,
        "expires_at": link.expires_at,
        "created_by": {"id": link.user_id, "name": sender},
        "url": address_of(link) if link.is_active else None,
        "createdAt": link.created_at,
        "updatedAt": link.updated_at,
    }


def count_active(change_set_id: str) -> int:
    """Return the number of active links of a set."""
    own = ReviewLink.change_set_id == change_set_id, ReviewLink.is_active
    return db.session.scalar(sa.select(sa.func.count()).select_from(ReviewLink).where(*own)) or 0


def is_built(change_set: ChangeSet, commit_sha: str | None) -> bool:
    """Return whether a commit of a set was built."""
    own = sa.exists().where(SiteBuild.change_set_id == change_set.id, SiteBuild.commit_sha == commit_sha)
    return bool(db.session.scalar(sa.select(own)))


@dataclass(frozen=True)
class OpenedBuild:
    """A build that a link opens. With `blocks_hosts` its pages load nothing from other hosts.

    Guests whose link `takes_comments` select texts of the pages.
    """

    build: SiteBuild
    change_set_id: str
    blocks_hosts: bool
    takes_comments: bool


def build_of_link(label: str, host_key: str) -> OpenedBuild | None:
    """Return the build of a host name if an active link with this key opens it, else None.

    A link opens the builds of its set, of the commit that it shows, and of the commit on which the set is based.
    """
    statement = (
        sa.select(SiteBuild, ChangeSet.id, ReviewLink.blocks_hosts, ReviewLink.rights)
        .join(ChangeSet, ChangeSet.project_id == SiteBuild.project_id)
        .join(ReviewLink, ReviewLink.change_set_id == ChangeSet.id)
        .where(SiteBuild.label == label, ReviewLink.host_key == host_key, ReviewLink.is_active)
        .where(sa.or_(LINKED_COMMITS, SiteBuild.change_set_id == ChangeSet.id))
    )
    row = db.session.execute(statement).first()
    return (
        None if row is None else OpenedBuild(row.SiteBuild, row.id, row.blocks_hosts, row.rights is not LinkRights.VIEW)
    )
