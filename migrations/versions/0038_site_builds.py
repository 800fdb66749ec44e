"""Builds of commits and the files of their output."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"

ID = sa.String(40)
STATES = ("waiting", "installing", "building", "ready", "failed", "expired")


def upgrade() -> None:
    """Create the tables, and the setting of projects."""
    op.add_column("projects", sa.Column("build_change_sets", sa.Boolean, nullable=False, server_default=sa.true()))
    op.create_table(
        "site_builds",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("change_set_id", ID),
        sa.Column("user_id", ID),
        sa.Column("commit_sha", sa.String(64), nullable=False),
        sa.Column("label", ID, nullable=False),
        sa.Column(
            "state",
            sa.Enum(*STATES, name="build_state", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("node", sa.String(255)),
        sa.Column("host_id", sa.String(255)),
        sa.Column("code", sa.String(64)),
        sa.Column("problem", sa.Text),
        sa.Column("step", sa.String(64)),
        sa.Column("hint", sa.Text),
        sa.Column("log", sa.Text),
        sa.Column("files", sa.Integer),
        sa.Column("size", sa.BigInteger),
        sa.Column("stored", sa.Integer),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_site_builds"),
        sa.UniqueConstraint("label", name="uq_site_builds_label"),
        *(_reference(*reference) for reference in REFERENCES),
    )
    for column in ("change_set_id", "user_id", "expires_at"):
        op.create_index(f"ix_site_builds_{column}", "site_builds", [column])
    op.create_index("ix_site_builds_project_id_commit_sha", "site_builds", ["project_id", "commit_sha"])
    op.create_index("ix_site_builds_state", "site_builds", ["state", "id"])
    op.create_table(
        "site_build_files",
        sa.Column("build_id", ID, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("mimetype", sa.String(100), nullable=False),
        sa.PrimaryKeyConstraint("build_id", "path", name="pk_site_build_files"),
        _reference("site_build_files", "build_id", "site_builds", "CASCADE"),
        _reference("site_build_files", "project_id", "projects", "CASCADE"),
    )
    op.create_index("ix_site_build_files_project_id_sha256", "site_build_files", ["project_id", "sha256"])


def downgrade() -> None:
    """Drop the tables. The objects stay in the store until the version that knows them runs again."""
    op.drop_table("site_build_files")
    op.drop_table("site_builds")
    with op.batch_alter_table("projects") as batch:
        batch.drop_column("build_change_sets")


REFERENCES = (
    ("site_builds", "project_id", "projects", "CASCADE"),
    ("site_builds", "change_set_id", "change_sets", "SET NULL"),
    ("site_builds", "user_id", "users", "SET NULL"),
)


def _reference(table: str, column: str, target: str, ondelete: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}_{target}"
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete=ondelete)
