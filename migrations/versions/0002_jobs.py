"""The tables of the store's own job engine."""

from alembic import op
from flask import current_app

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    current_app.extensions["jobs"].install(op.get_bind())


def downgrade() -> None:
    current_app.extensions["jobs"].uninstall(op.get_bind())
