"""Index of the front matter values of a blob, for filters that check each file."""

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.create_index(
            "ix_content_fields_sha", "content_fields", ["project_id", "sha", "name"], postgresql_concurrently=True
        )


def downgrade() -> None:
    op.drop_index("ix_content_fields_sha", "content_fields")
