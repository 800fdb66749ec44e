"""The commit up to which the files of an index have their values for lists. A job stores those of existing files."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("content_indexes", sa.Column("listed_sha", sa.String(length=64), nullable=True))


def downgrade() -> None:
    op.drop_column("content_indexes", "listed_sha")
