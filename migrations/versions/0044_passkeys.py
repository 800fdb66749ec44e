"""Passkeys, and the time of the last authentication of a session."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"

TABLE = "passkeys"


def upgrade() -> None:
    """Create the table, and add the column to the sessions."""
    op.create_table(
        TABLE,
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("user_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(100)),
        sa.Column("rp_id", sa.String(255), nullable=False),
        sa.Column("credential_id", sa.Text, nullable=False),
        sa.Column("public_key", sa.Text, nullable=False),
        sa.Column("counter", sa.BigInteger, nullable=False),
        sa.Column("is_synced", sa.Boolean, nullable=False),
        sa.Column("backed_up", sa.Boolean, nullable=False),
        sa.Column("transports", sa.JSON, nullable=False),
        sa.Column("aaguid", sa.String(36), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_passkeys"),
        sa.UniqueConstraint("credential_id", name="uq_passkeys_credential_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_passkeys_user_id_users", ondelete="CASCADE"),
    )
    op.create_index("ix_passkeys_user_id", TABLE, ["user_id"])
    op.add_column("sessions", sa.Column("reauthenticated_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """Drop the table and the column."""
    with op.batch_alter_table("sessions") as batch:
        batch.drop_column("reauthenticated_at")
    op.drop_table(TABLE)
