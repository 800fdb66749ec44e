"""Row locks for rules that count or compare before they write.

Always organizations first (by id), then users (by id), so that no two requests wait for each other. On SQLite a writing
transaction holds the whole database already.
"""

import sqlalchemy as sa

from app.core.errors import NotFound
from app.extensions import db
from app.models.organization import Organization
from app.models.user import User


def hold_organizations(*ids: str) -> None:
    """Keep these organizations from changing until the transaction ends, and read them anew.

    Raises:
        NotFound: one of them is gone by now.
    """
    wanted = sorted(set(ids))
    found = db.session.scalars(
        sa.select(Organization)
        .where(Organization.id.in_(wanted))
        .order_by(Organization.id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    ).all()
    if len(found) != len(wanted):
        raise NotFound("Organization not found")


def hold_users(*ids: str) -> None:
    """Let nobody else count or change what these users own until the transaction ends."""
    db.session.execute(
        sa.select(User.id).where(User.id.in_(set(ids))).order_by(User.id).with_for_update(key_share=True)
    ).all()
