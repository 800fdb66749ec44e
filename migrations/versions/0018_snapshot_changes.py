"""Add the paths that changed since the tree of an index was stored. An older version does not change them."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("content_indexes", sa.Column("snapshot_changes", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("content_indexes", "snapshot_changes")
