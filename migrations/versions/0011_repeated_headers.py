"""Response headers that are stored with an idempotency key. Older versions leave the column empty."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("idempotency_keys", sa.Column("headers", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("idempotency_keys", "headers")
