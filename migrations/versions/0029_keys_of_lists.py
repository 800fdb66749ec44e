"""The keys of lists in front matter contain those of their first items: all texts are read again."""

from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Mark the texts of all branches as not read."""
    op.execute("UPDATE content_indexes SET described_sha = NULL")


def downgrade() -> None:
    """Keep the keys. The previous version reads them."""
