"""Title and digests of the pages of builds."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"

TABLE = "site_build_files"


def upgrade() -> None:
    """Add the columns. Pages of earlier builds count as changed."""
    op.add_column(TABLE, sa.Column("title", sa.Text))
    for name in ("content_digest", "frame_digest"):
        op.add_column(TABLE, sa.Column(name, sa.String(32)))


def downgrade() -> None:
    """Drop the columns."""
    with op.batch_alter_table(TABLE) as batch:
        for name in ("title", "content_digest", "frame_digest"):
            batch.drop_column(name)
