"""Tokens that wait to be ended at their Git host, and the hosts' notifications that have had their effect."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "git_revocations",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column(
            "provider",
            sa.Enum("github", "gitlab", "local", name="provider", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("token_secret", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_git_revocations")),
    )
    op.create_table(
        "git_deliveries",
        sa.Column("provider", sa.String(length=20), nullable=False),
        sa.Column("delivery", sa.String(length=64), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("provider", "delivery", name=op.f("pk_git_deliveries")),
    )
    op.create_index(op.f("ix_git_deliveries_received_at"), "git_deliveries", ["received_at"], unique=False)


def downgrade() -> None:
    op.drop_table("git_deliveries")
    op.drop_table("git_revocations")
