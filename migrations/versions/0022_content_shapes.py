"""Sets of fields of blobs, for entries without a field. A job stores those of existing blobs."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("content_indexes", sa.Column("shaped_sha", sa.String(length=64), nullable=True))
    op.create_table(
        "content_shapes",
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("shape", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_content_shapes_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "sha", name=op.f("pk_content_shapes")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_content_shapes_shape", "content_shapes", ["project_id", "shape", "sha"])


def downgrade() -> None:
    op.drop_table("content_shapes")
    op.drop_column("content_indexes", "shaped_sha")
