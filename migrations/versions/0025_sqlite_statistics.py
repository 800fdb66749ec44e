"""Statistics of the content tables of SQLite, as those of a large project.

SQLite assumes ten rows for the first column of each index, for example for all files of a project. It then reads all of them
instead of using a better index. Statistics that `ANALYZE` collects replace these.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

# Table, index and the number of rows: of the index, then for each value of its first column, its first two columns …
STATISTICS = (
    ("content_files", "sqlite_autoindex_content_files_1", "1000000 200000 200000 1"),
    ("content_files", "ix_content_files_sha", "1000000 200000 200000 2"),
    ("content_files", "ix_content_files_folder", "1000000 200000 200000 50 1"),
    ("content_files", "ix_content_files_image", "20000 5000 5000 1"),
    ("content_blobs", "sqlite_autoindex_content_blobs_1", "100000 50000 1 1"),
    ("content_texts", "sqlite_autoindex_content_texts_1", "1000000 200000 1"),
    ("content_links", "sqlite_autoindex_content_links_1", "1000000 200000 5 1"),
    ("content_links", "ix_content_links_project_id_key", "1000000 200000 10"),
    # A table without row ids is the index of its primary key.
    ("content_fields", "content_fields", "5000000 1000000 50000 20 2 1"),
    ("content_fields", "ix_content_fields_sha", "5000000 1000000 6 1"),
    ("content_shapes", "content_shapes", "1000000 200000 1"),
    ("content_shapes", "ix_content_shapes_shape", "1000000 200000 20000 1"),
)


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    # This creates the table of statistics.
    connection.execute(sa.text("ANALYZE alembic_version"))
    delete = sa.text("DELETE FROM sqlite_stat1 WHERE tbl = :tbl AND idx = :idx")
    insert = sa.text("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (:tbl, :idx, :stat)")
    rows = [{"tbl": table, "idx": index, "stat": rows} for table, index, rows in STATISTICS]
    connection.execute(delete, [{"tbl": row["tbl"], "idx": row["idx"]} for row in rows])
    connection.execute(insert, rows)


def downgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        connection.execute(sa.text("DELETE FROM sqlite_stat1 WHERE tbl LIKE 'content_%'"))
