"""Values of files for lists of a folder, and indexes of the folder of a file and of images."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

PATH_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
FOLDER = sa.text("rtrim(path, replace(path, '/', ''))")
IS_BLOB = sa.text("type = 'blob'")
IS_IMAGE = sa.text(
    "type = 'blob' AND lower(substr(path, length(rtrim(path, replace(path, '.', ''))) + 1)) IN ('apng', 'avif', 'bmp', "
    "'gif', 'heic', 'ico', 'jfif', 'jpeg', 'jpg', 'png', 'svg', 'tif', 'tiff', 'webp')"
)


def upgrade() -> None:
    for column in (
        sa.Column("title_key", PATH_TEXT, nullable=True),
        sa.Column("date_key", PATH_TEXT, nullable=True),
        sa.Column("is_draft", sa.Boolean(), nullable=True),
    ):
        op.add_column("content_files", column)
    with op.get_context().autocommit_block():
        op.create_index(
            "ix_content_files_folder",
            "content_files",
            ["index_id", "generation", FOLDER, "path"],
            postgresql_concurrently=True,
            postgresql_where=IS_BLOB,
            sqlite_where=IS_BLOB,
        )
        op.create_index(
            "ix_content_files_image",
            "content_files",
            ["index_id", "generation", "path"],
            postgresql_concurrently=True,
            postgresql_where=IS_IMAGE,
            sqlite_where=IS_IMAGE,
        )


def downgrade() -> None:
    op.drop_index("ix_content_files_image", "content_files")
    op.drop_index("ix_content_files_folder", "content_files")
    for name in ("is_draft", "date_key", "title_key"):
        op.drop_column("content_files", name)
