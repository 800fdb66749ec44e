"""Version of the reader of each text. Texts in scripts with combining marks are read again, because their words were split.

The words of the older version stay in use until then.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.add_column("content_texts", sa.Column("version", sa.SmallInteger(), server_default="0", nullable=False))
    op.execute("UPDATE content_indexes SET described_sha = NULL")


def downgrade() -> None:
    op.drop_column("content_texts", "version")
