"""The index sorts dates in declared formats and knows links with spaces: all texts are read and listed again."""

from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Mark the texts and values of all branches as not read."""
    op.execute("UPDATE content_indexes SET described_sha = NULL, listed_sha = NULL")


def downgrade() -> None:
    """Remove the rows of written texts, and read all texts again. The previous version sorts them as texts."""
    op.execute("DELETE FROM content_fields WHERE number = -1")
    op.execute("UPDATE content_indexes SET described_sha = NULL")
