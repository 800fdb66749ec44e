"""The second factor of a user, and the organizations that require it."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"

ID, HASH, TIME = sa.String(40), sa.String(64), sa.DateTime(timezone=True)
TABLES = ("second_factors", "backup_codes", "second_factor_challenges", "trusted_devices")


def upgrade() -> None:
    """Create the tables and the columns. No user has a second factor, and no organization requires it."""
    op.add_column("users", sa.Column("two_factor_enabled", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("sessions", sa.Column("second_factor_at", TIME))
    op.add_column("organizations", sa.Column("second_factor_from", TIME))
    op.create_table(
        "second_factors",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("totp_secret", sa.Text),
        sa.Column("prepared_in", ID),
        sa.Column("confirmed_at", TIME),
        sa.Column("last_step", sa.BigInteger),
        sa.Column("uses_mail", sa.Boolean, nullable=False),
        sa.Column("mail_code_hash", HASH),
        sa.Column("mail_code_expires_at", TIME),
        sa.Column("reset_hash", HASH),
        sa.Column("reset_expires_at", TIME),
        sa.Column("reset_by", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_second_factors"),
        sa.UniqueConstraint("user_id", name="uq_second_factors_user_id"),
        sa.UniqueConstraint("reset_hash", name="uq_second_factors_reset_hash"),
        _reference("second_factors", "user_id"),
        _reference("second_factors", "reset_by", ondelete="SET NULL"),
    )
    op.create_index("ix_second_factors_reset_by", "second_factors", ["reset_by"])
    op.create_table(
        "backup_codes",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("code_hash", HASH, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "code_hash", name="pk_backup_codes"),
        _reference("backup_codes", "user_id"),
    )
    _create_secrets_table("second_factor_challenges", sa.Column("remember", sa.Boolean, nullable=False))
    _create_secrets_table(
        "trusted_devices",
        sa.Column("ip_address", sa.String(64)),
        sa.Column("user_agent", sa.String(512)),
        sa.Column("last_used_at", TIME, nullable=False),
    )


def downgrade() -> None:
    """Drop the tables and the columns."""
    for table in TABLES:
        op.drop_table(table)
    for table, column in (
        ("organizations", "second_factor_from"),
        ("sessions", "second_factor_at"),
        ("users", "two_factor_enabled"),
    ):
        with op.batch_alter_table(table) as batch:
            batch.drop_column(column)


def _create_secrets_table(name: str, *columns: sa.Column[object]) -> None:
    """Create a table of hashed secrets that expire."""
    op.create_table(
        name,
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("token_hash", HASH, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        *columns,
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=f"pk_{name}"),
        sa.UniqueConstraint("token_hash", name=f"uq_{name}_token_hash"),
        _reference(name, "user_id"),
    )
    for column in ("user_id", "expires_at"):
        op.create_index(f"ix_{name}_{column}", name, [column])


def _reference(table: str, column: str, *, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], ["users.id"], name=f"fk_{table}_{column}_users", ondelete=ondelete)
