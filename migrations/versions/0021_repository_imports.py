"""Create the table `repository_imports`."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

TABLE = "repository_imports"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("organization_id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=True),
        sa.Column("repository", sa.String(length=255), nullable=False),
        sa.Column("project_name", sa.String(length=100), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "waiting", "running", "connected", "failed",
                name="import_status", native_enum=False, create_constraint=True, length=32,
            ),
            nullable=False,
        ),
        sa.Column("received_bytes", sa.BigInteger(), nullable=False),
        sa.Column("problem", sa.String(length=40), nullable=True),
        sa.Column("problem_text", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        *(
            sa.ForeignKeyConstraint(
                [column], [f"{target}.id"], name=op.f(f"fk_{TABLE}_{column}_{target}"), ondelete=ondelete
            )
            for column, target, ondelete in (
                ("organization_id", "organizations", "CASCADE"),
                ("user_id", "users", "CASCADE"),
                ("project_id", "projects", "SET NULL"),
            )
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{TABLE}")),
    )  # fmt: skip
    for column in ("organization_id", "user_id", "project_id"):
        op.create_index(op.f(f"ix_{TABLE}_{column}"), TABLE, [column])


def downgrade() -> None:
    op.drop_table(TABLE)
