"""When the process that starts a sandbox last said so; a version that does not know it leaves it empty."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("sandboxes", sa.Column("tended_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("sandboxes", "tended_at")
