"""The tables of change sets, and the settings of projects for them."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"

ID = sa.String(40)
SHA = sa.String(64)
TEXT = sa.Text()
TIME = sa.DateTime(timezone=True)

STATES = ("draft", "in_review", "changes_requested", "approved", "scheduled", "publishing", "published", "reverted",
          "closed", "failed")  # fmt: skip


def upgrade() -> None:
    """Create the tables and add the settings."""
    op.add_column("projects", sa.Column("publishers", sa.String(16), nullable=False, server_default="editors"))
    op.add_column("projects", sa.Column("required_approvals", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("projects", sa.Column("change_set_prefix", sa.String(100), nullable=False, server_default="galley"))
    op.add_column("projects", sa.Column("require_change_sets", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "change_sets",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("description", TEXT),
        sa.Column("state", _enum("change_set_state", *STATES), nullable=False),
        sa.Column("branch", TEXT, nullable=False),
        sa.Column("base_sha", SHA, nullable=False),
        sa.Column("head_sha", SHA, nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("creator_id", ID),
        sa.Column("token_id", ID),
        sa.Column("token_name", TEXT),
        sa.Column("busy_until", TIME),
        sa.Column("publish_from", SHA),
        sa.Column("previous_state", sa.String(32)),
        sa.Column("publisher_id", ID),
        sa.Column("request_number", sa.Integer()),
        sa.Column("published_sha", SHA),
        sa.Column("published_parent_sha", SHA),
        sa.Column("published_at", TIME),
        sa.Column("problem", TEXT),
        sa.Column("reverts_id", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_change_sets"),
        _key("change_sets", "project_id", "projects"),
        _key("change_sets", "creator_id", "users", "SET NULL"),
        _key("change_sets", "publisher_id", "users", "SET NULL"),
        _key("change_sets", "reverts_id", "change_sets", "SET NULL"),
        sa.UniqueConstraint("project_id", "branch", name="uq_change_sets_project_id_branch"),
    )
    op.create_index("ix_change_sets_project_id_state_id", "change_sets", ["project_id", "state", "id"])
    op.create_index("ix_change_sets_creator_id", "change_sets", ["creator_id"])
    op.create_index("ix_change_sets_publisher_id", "change_sets", ["publisher_id"])
    op.create_index("ix_change_sets_reverts_id", "change_sets", ["reverts_id"])
    op.create_table(
        "change_set_authors",
        sa.Column("change_set_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("change_set_id", "user_id", name="pk_change_set_authors"),
        _key("change_set_authors", "change_set_id", "change_sets"),
        _key("change_set_authors", "user_id", "users"),
    )
    op.create_index("ix_change_set_authors_user_id", "change_set_authors", ["user_id"])
    op.create_table(
        "change_set_reviews",
        sa.Column("id", ID, nullable=False),
        sa.Column("change_set_id", ID, nullable=False),
        sa.Column("user_id", ID),
        sa.Column("verdict", _enum("review_verdict", "approve", "changes", "comment"), nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("head_sha", SHA, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_change_set_reviews"),
        _key("change_set_reviews", "change_set_id", "change_sets"),
        _key("change_set_reviews", "user_id", "users", "SET NULL"),
    )
    op.create_table(
        "change_set_schedules",
        sa.Column("change_set_id", ID, nullable=False),
        sa.Column("wall_time", sa.String(16), nullable=False),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("choice", sa.String(8)),
        sa.Column("action", _enum("scheduled_action", "publish", "unpublish"), nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        sa.Column("user_id", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("change_set_id", name="pk_change_set_schedules"),
        _key("change_set_schedules", "change_set_id", "change_sets"),
        _key("change_set_schedules", "user_id", "users", "SET NULL"),
    )
    op.create_index("ix_change_set_schedules_due_at", "change_set_schedules", ["due_at"])
    op.create_table(
        "change_set_comments",
        sa.Column("id", ID, nullable=False),
        sa.Column("change_set_id", ID, nullable=False),
        sa.Column("user_id", ID),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("path", TEXT),
        sa.Column("pointer", TEXT),
        sa.Column("block", sa.String(64)),
        sa.Column("resolved_at", TIME),
        sa.Column("resolved_by", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_change_set_comments"),
        _key("change_set_comments", "change_set_id", "change_sets"),
        _key("change_set_comments", "user_id", "users", "SET NULL"),
        _key("change_set_comments", "resolved_by", "users", "SET NULL"),
    )
    op.create_index("ix_change_set_reviews_change_set_id", "change_set_reviews", ["change_set_id"])
    op.create_index("ix_change_set_reviews_user_id", "change_set_reviews", ["user_id"])
    op.create_index("ix_change_set_schedules_user_id", "change_set_schedules", ["user_id"])
    op.create_index("ix_change_set_comments_change_set_id", "change_set_comments", ["change_set_id"])
    op.create_index("ix_change_set_comments_user_id", "change_set_comments", ["user_id"])
    op.create_index("ix_change_set_comments_resolved_by", "change_set_comments", ["resolved_by"])


def downgrade() -> None:
    """Drop the tables and the settings."""
    for name in ("comments", "schedules", "reviews", "authors"):
        op.drop_table(f"change_set_{name}")
    op.drop_table("change_sets")
    with op.batch_alter_table("projects") as batch:
        for column in ("publishers", "required_approvals", "change_set_prefix", "require_change_sets"):
            batch.drop_column(column)


def _enum(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def _key(table: str, column: str, target: str, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=f"fk_{table}_{column}_{target}", ondelete=ondelete)
