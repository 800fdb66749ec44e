"""The table of images of drafts."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

ID = sa.String(40)


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "draft_images",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_draft_images"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_draft_images_project_id_projects", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_draft_images_user_id_users", ondelete="CASCADE"),
        sa.UniqueConstraint(
            "project_id",
            "user_id",
            "branch",
            "file",
            "path",
            name="uq_draft_images_project_id_user_id_branch_file_path",
        ),
    )
    op.create_index("ix_draft_images_user_id", "draft_images", ["user_id"])
    op.create_index("ix_draft_images_created_at", "draft_images", ["created_at"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("draft_images")
