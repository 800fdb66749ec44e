"""Create the table `rate_events`, which counts the rates per hour and per day."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "rate_events",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=24), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rate_events")),
    )
    op.create_index("ix_rate_events_name_key_created_at", "rate_events", ["name", "key", "created_at"])
    op.create_index("ix_rate_events_created_at", "rate_events", ["created_at"])


def downgrade() -> None:
    op.drop_table("rate_events")
