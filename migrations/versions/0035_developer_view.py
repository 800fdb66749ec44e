"""The preference of a user for paths and versions in the console."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Add the preference."""
    column = sa.Column("developer_view", sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column("user_preferences", column)


def downgrade() -> None:
    """Remove the preference."""
    op.drop_column("user_preferences", "developer_view")
