"""Trees are stored in the object store, and named by their index.

What was stored as rows is made again; the table stays for the version before, which rebuilds what it misses there.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("content_indexes", sa.Column("snapshot_sha", sa.String(length=64), nullable=True))
    op.add_column("content_indexes", sa.Column("snapshot_key", sa.Text(), nullable=True))
    op.execute("DELETE FROM content_snapshots")


def downgrade() -> None:
    op.drop_column("content_indexes", "snapshot_key")
    op.drop_column("content_indexes", "snapshot_sha")
