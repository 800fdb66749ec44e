"""The paths that change sets change, for lists of pages."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "change_set_paths",
        sa.Column("change_set_id", sa.String(40), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("change_set_id", "path", name="pk_change_set_paths"),
        sa.ForeignKeyConstraint(
            ["change_set_id"],
            ["change_sets.id"],
            name="fk_change_set_paths_change_set_id_change_sets",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("change_set_paths")
