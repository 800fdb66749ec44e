"""Notices: news for users about change sets, and the kinds of which a user wants no mails."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"

ID = sa.String(40)
TIME = sa.DateTime(timezone=True)
KINDS = ("review_requested", "changes_requested", "approved", "comment", "mentioned", "published", "publish_failed")


def upgrade() -> None:
    """Create the table and the preference."""
    op.add_column("user_preferences", sa.Column("muted_mails", sa.JSON(), nullable=False, server_default="[]"))
    op.create_table(
        "notices",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("change_set_id", ID, nullable=False),
        sa.Column("kind", _enum("notice_kind", *KINDS), nullable=False),
        sa.Column("actor_id", ID),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("read_at", TIME),
        sa.Column("mailed_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_notices"),
        _key("user_id", "users"),
        _key("change_set_id", "change_sets"),
        _key("actor_id", "users", "SET NULL"),
    )
    op.create_index("ix_notices_user_id_read_at", "notices", ["user_id", "read_at"])
    op.create_index("ix_notices_change_set_id", "notices", ["change_set_id"])
    op.create_index("ix_notices_actor_id", "notices", ["actor_id"])
    not_mailed = sa.text("mailed_at IS NULL")
    op.create_index(
        "ix_notices_not_mailed", "notices", ["created_at"], sqlite_where=not_mailed, postgresql_where=not_mailed
    )


def downgrade() -> None:
    """Drop the table and the preference."""
    op.drop_table("notices")
    op.drop_column("user_preferences", "muted_mails")


def _enum(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def _key(column: str, referred: str, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    name = f"fk_notices_{column}_{referred}"
    return sa.ForeignKeyConstraint([column], [f"{referred}.id"], name=name, ondelete=ondelete)
