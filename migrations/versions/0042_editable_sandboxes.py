"""Editable sandboxes, and the source marks of their files."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"

TABLE = "sandboxes"
LIVE = sa.text("state IN ('starting', 'running')")
EARLIER, PRESENT = "uq_sandboxes_live_of_project", "uq_sandboxes_live_of_kind"


def upgrade() -> None:
    """Add the columns and the table. Present sandboxes are plain ones."""
    op.add_column(TABLE, sa.Column("editable", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column(TABLE, sa.Column("first_mark", sa.Integer))
    op.add_column(TABLE, sa.Column("unmarked_reason", sa.Text))
    op.add_column(TABLE, sa.Column("unmarked_paths", sa.JSON))
    op.add_column(TABLE, sa.Column("unmarked_values", sa.JSON))
    op.add_column(TABLE, sa.Column("mark_rules", sa.JSON))
    op.create_table(
        "mark_ranges",
        sa.Column("sandbox_id", sa.String(40), nullable=False),
        sa.Column("first_number", sa.Integer, nullable=False),
        sa.Column("last_number", sa.Integer, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("blob_sha", sa.String(64), nullable=False),
        sa.Column("positions", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("sandbox_id", "first_number", name="pk_mark_ranges"),
        sa.ForeignKeyConstraint(
            ["sandbox_id"], ["sandboxes.id"], name="fk_mark_ranges_sandbox_id_sandboxes", ondelete="CASCADE"
        ),
    )
    _replace_index(EARLIER, PRESENT, ["project_id", "editable"])


def downgrade() -> None:
    """Remove editable sandboxes. The job that ends sandboxes without a row stops them."""
    op.drop_table("mark_ranges")
    op.execute(sa.text("DELETE FROM sandboxes WHERE editable"))
    _replace_index(PRESENT, EARLIER, ["project_id"])
    with op.batch_alter_table(TABLE) as batch:
        for name in ("mark_rules", "unmarked_values", "unmarked_paths", "unmarked_reason", "first_mark", "editable"):
            batch.drop_column(name)


def _replace_index(earlier: str, name: str, columns: list[str]) -> None:
    with op.get_context().autocommit_block():
        op.create_index(
            name,
            TABLE,
            columns,
            unique=True,
            sqlite_where=LIVE,
            postgresql_where=LIVE,
            postgresql_concurrently=True,
        )
        op.drop_index(earlier, TABLE, postgresql_concurrently=True)
