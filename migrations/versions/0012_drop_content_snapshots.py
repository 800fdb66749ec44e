"""Drop the table `content_snapshots`. The object store has held the trees since revision 0009."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
CONTRACTS = "unused since revision 0009: no version after it reads or writes the table"


def upgrade() -> None:
    op.drop_table("content_snapshots")


def downgrade() -> None:
    op.create_table(
        "content_snapshots",
        sa.Column("index_id", sa.String(length=40), nullable=False),
        sa.Column("commit_sha", sa.String(length=64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["index_id"],
            ["content_indexes.id"],
            name=op.f("fk_content_snapshots_index_id_content_indexes"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("index_id", name=op.f("pk_content_snapshots")),
    )
