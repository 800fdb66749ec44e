"""The members who are asked to review change sets."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "change_set_reviewers",
        sa.Column("change_set_id", sa.String(40), nullable=False),
        sa.Column("user_id", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("change_set_id", "user_id", name="pk_change_set_reviewers"),
        sa.ForeignKeyConstraint(
            ["change_set_id"],
            ["change_sets.id"],
            name="fk_change_set_reviewers_change_set_id_change_sets",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_change_set_reviewers_user_id_users", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_change_set_reviewers_user_id", "change_set_reviewers", ["user_id"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("change_set_reviewers")
