"""Row locks for rules that count or compare before they write.

The order prevents deadlocks: organizations by id, then users by id. On SQLite a write transaction locks the database.
"""

import sqlalchemy as sa

from app.core.errors import NotFound
from app.extensions import db
from app.models.organization import Organization
from app.models.user import User


def lock_organizations(*ids: str) -> None:
    """Lock organizations until the transaction ends and read them again.

    Raises:
        NotFound: another request deleted one of them.
    """
    unique_ids = sorted(set(ids))
    rows = db.session.scalars(
        sa.select(Organization)
        .where(Organization.id.in_(unique_ids))
        .order_by(Organization.id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    ).all()
    if len(rows) != len(unique_ids):
        raise NotFound("Organization not found")


def lock_users(*ids: str) -> None:
    """Lock users until the transaction ends, so that no other request counts or changes what they own."""
    db.session.execute(
        sa.select(User.id).where(User.id.in_(set(ids))).order_by(User.id).with_for_update(key_share=True)
    ).all()
