"""Preview sandboxes, at most one live one a project."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

LIVE = sa.text("state IN ('starting', 'running')")


def upgrade() -> None:
    op.create_table(
        "sandboxes",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("label", sa.String(length=40), nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("reference", sa.String(length=255), nullable=True),
        sa.Column(
            "state",
            sa.Enum(
                "starting", "running", "stopped", "failed",
                name="sandbox_state", native_enum=False, create_constraint=True, length=32,
            ),
            nullable=False,
        ),
        sa.Column("commit_sha", sa.String(length=64), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("log", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_sandboxes_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_sandboxes_user_id_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sandboxes")),
        sa.UniqueConstraint("label", name=op.f("uq_sandboxes_label")),
    )  # fmt: skip
    op.create_index(op.f("ix_sandboxes_project_id"), "sandboxes", ["project_id"])
    op.create_index(op.f("ix_sandboxes_user_id"), "sandboxes", ["user_id"])
    op.create_index(op.f("ix_sandboxes_expires_at"), "sandboxes", ["expires_at"])
    op.create_index(
        "uq_sandboxes_live_of_project",
        "sandboxes",
        ["project_id"],
        unique=True,
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )


def downgrade() -> None:
    op.drop_table("sandboxes")
