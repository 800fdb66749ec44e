"""Files of drafts whose bytes the repository has."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    """Add the blob, and permit a row without bytes."""
    op.add_column("draft_images", sa.Column("blob_sha", sa.String(64)))
    with op.batch_alter_table("draft_images") as batch:
        batch.alter_column("content", existing_type=sa.LargeBinary(), nullable=True)


def downgrade() -> None:
    """Remove the files of copies: the previous version commits only files that it has the bytes of."""
    op.execute(sa.delete(sa.table("draft_images")).where(sa.column("blob_sha").is_not(None)))
    with op.batch_alter_table("draft_images") as batch:
        batch.alter_column("content", existing_type=sa.LargeBinary(), nullable=False)
        batch.drop_column("blob_sha")
