"""Front matter of blobs, its values for sorting and filters, and an index of files by blob.

The text of every branch is read again, because older versions did not store the front matter.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("content_texts", sa.Column("front_matter", sa.JSON(), nullable=True))
    op.create_table(
        "content_fields",
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("key", text, nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=1), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_content_fields_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "name", "key", "sha", "number", name=op.f("pk_content_fields")),
        sqlite_with_rowid=False,
    )
    op.execute("UPDATE content_indexes SET described_sha = NULL")
    with op.get_context().autocommit_block():
        op.create_index(
            "ix_content_files_sha", "content_files", ["index_id", "generation", "sha"], postgresql_concurrently=True
        )


def downgrade() -> None:
    op.drop_index("ix_content_files_sha", "content_files")
    op.drop_table("content_fields")
    op.drop_column("content_texts", "front_matter")
