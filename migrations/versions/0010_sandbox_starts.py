"""Heartbeat of sandbox starts. A version that does not know the column leaves it empty."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("sandboxes", sa.Column("tended_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("sandboxes", "tended_at")
