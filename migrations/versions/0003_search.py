"""Search: terms of blobs with the full-text index of each database, and links."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"

FTS5 = """
CREATE VIRTUAL TABLE content_words USING fts5(
    project_id, words, content='content_texts', content_rowid='id', tokenize="ascii tokenchars '=_'"
)
"""
ON_INSERT = """
CREATE TRIGGER content_texts_insert AFTER INSERT ON content_texts BEGIN
    INSERT INTO content_words (rowid, project_id, words) VALUES (new.id, new.project_id, new.words);
END
"""
ON_DELETE = """
CREATE TRIGGER content_texts_delete AFTER DELETE ON content_texts BEGIN
    INSERT INTO content_words (content_words, rowid, project_id, words)
    VALUES ('delete', old.id, old.project_id, old.words);
END
"""


def upgrade() -> None:
    op.create_table(
        "content_texts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("words", sa.Text().with_variant(postgresql.TSVECTOR(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_content_texts_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_content_texts")),
        sa.UniqueConstraint("project_id", "sha", name=op.f("uq_content_texts_project_id_sha")),
    )
    op.create_table(
        "content_links",
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_content_links_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "sha", "number", name=op.f("pk_content_links")),
    )
    op.create_index("ix_content_links_project_id_key", "content_links", ["project_id", "key"])
    if op.get_bind().dialect.name == "sqlite":
        for statement in (FTS5, ON_INSERT, ON_DELETE):
            op.execute(statement)
    else:
        op.create_index("ix_content_texts_words", "content_texts", ["words"], postgresql_using="gin")


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE content_words")
    op.drop_table("content_links")
    op.drop_table("content_texts")
