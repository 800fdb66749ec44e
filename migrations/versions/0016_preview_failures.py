"""Add the step and the hint of failed sandboxes, the start of a sandbox, and network access of previews."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("sandboxes", sa.Column("start_id", sa.String(length=64), nullable=True))
    op.add_column("sandboxes", sa.Column("step", sa.String(length=64), nullable=True))
    op.add_column("sandboxes", sa.Column("hint", sa.Text(), nullable=True))
    op.add_column("project_previews", sa.Column("failure", sa.JSON(), nullable=True))
    op.add_column("projects", sa.Column("preview_network", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column("projects", "preview_network")
    op.drop_column("project_previews", "failure")
    op.drop_column("sandboxes", "hint")
    op.drop_column("sandboxes", "step")
    op.drop_column("sandboxes", "start_id")
