"""The projects that a member or an invitation is limited to."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"

ID = sa.String(40)
ROLE = ("owner", "admin", "editor")


def upgrade() -> None:
    """Add the access of members and invitations, and create the tables."""
    for table in ("memberships", "invitations"):
        op.add_column(table, sa.Column("access", sa.String(16), nullable=False, server_default="all"))
    op.create_table(
        "membership_projects",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("organization_id", ID, nullable=False),
        sa.Column("role", _role(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "user_id", name="pk_membership_projects"),
        _project("membership_projects"),
        sa.ForeignKeyConstraint(
            ["organization_id", "user_id"],
            ["memberships.organization_id", "memberships.user_id"],
            name="fk_membership_projects_membership",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_membership_projects_membership", "membership_projects", ["organization_id", "user_id"])
    op.create_table(
        "invitation_projects",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("invitation_id", ID, nullable=False),
        sa.Column("role", _role(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "invitation_id", name="pk_invitation_projects"),
        _project("invitation_projects"),
        sa.ForeignKeyConstraint(
            ["invitation_id"],
            ["invitations.id"],
            name="fk_invitation_projects_invitation_id_invitations",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_invitation_projects_invitation_id", "invitation_projects", ["invitation_id"])


def downgrade() -> None:
    """Remove the members and invitations that are limited: the previous version gives them all projects."""
    for table in ("invitation_projects", "membership_projects"):
        op.drop_table(table)
    for table in ("memberships", "invitations"):
        op.execute(sa.delete(sa.table(table)).where(sa.column("access") == "projects"))
        with op.batch_alter_table(table) as batch:
            batch.drop_column("access")


def _role() -> sa.Enum:
    return sa.Enum(*ROLE, name="role", native_enum=False, create_constraint=True, length=32)


def _project(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id"], ["projects.id"], name=f"fk_{table}_project_id_projects", ondelete="CASCADE"
    )
