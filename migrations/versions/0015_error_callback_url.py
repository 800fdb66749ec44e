"""Add the page of a failed social login to login attempts. An older version leaves it empty."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("login_attempts", sa.Column("error_callback_url", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("login_attempts", "error_callback_url")
