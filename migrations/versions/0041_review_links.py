"""Review links, and the comments, reviews and notices of guests."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"

ID = sa.String(40)
RIGHTS = ("view", "comment", "approve")
GUESTS = ("change_set_reviews", "change_set_comments")


def upgrade() -> None:
    """Create the table, and the columns of guests."""
    op.add_column("projects", sa.Column("guest_approval", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "review_links",
        sa.Column("id", ID, nullable=False),
        sa.Column("change_set_id", ID, nullable=False),
        sa.Column("user_id", ID),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("address_secret", sa.Text, nullable=False),
        sa.Column("host_key", sa.String(24), nullable=False),
        sa.Column(
            "rights",
            sa.Enum(*RIGHTS, name="review_link_rights", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("commit_sha", sa.String(64)),
        sa.Column("receiver", sa.Text),
        sa.Column("message", sa.Text),
        sa.Column("password_hash", sa.Text),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("tries_until", sa.DateTime(timezone=True)),
        sa.Column("blocks_hosts", sa.Boolean, nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("opened", sa.Integer, nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_review_links"),
        sa.UniqueConstraint("secret_hash", name="uq_review_links_secret_hash"),
        sa.UniqueConstraint("host_key", name="uq_review_links_host_key"),
        *(_reference("review_links", *reference) for reference in REFERENCES),
    )
    for column in ("change_set_id", "user_id"):
        op.create_index(f"ix_review_links_{column}", "review_links", [column])
    for table in GUESTS:
        op.add_column(table, sa.Column("link_id", ID))
        op.add_column(table, sa.Column("guest_name", sa.Text))
        with op.batch_alter_table(table) as batch:
            batch.create_foreign_key(
                f"fk_{table}_link_id_review_links", "review_links", ["link_id"], ["id"], ondelete="SET NULL"
            )
    op.add_column("change_set_comments", sa.Column("page", sa.Text))
    op.add_column("change_set_comments", sa.Column("quote", sa.JSON))
    op.add_column("notices", sa.Column("actor_name", sa.Text))
    with op.get_context().autocommit_block():
        for table in GUESTS:
            op.create_index(f"ix_{table}_link_id", table, ["link_id"], postgresql_concurrently=True)


def downgrade() -> None:
    """Drop the table. Comments and reviews of guests stay as those of deleted users."""
    with op.batch_alter_table("notices") as batch:
        batch.drop_column("actor_name")
    with op.batch_alter_table("change_set_comments") as batch:
        batch.drop_column("quote")
        batch.drop_column("page")
    for table in GUESTS:
        with op.batch_alter_table(table) as batch:
            batch.drop_index(f"ix_{table}_link_id")
            batch.drop_constraint(f"fk_{table}_link_id_review_links", type_="foreignkey")
            batch.drop_column("guest_name")
            batch.drop_column("link_id")
    op.drop_table("review_links")
    with op.batch_alter_table("projects") as batch:
        batch.drop_column("guest_approval")


REFERENCES = (
    ("change_set_id", "change_sets", "CASCADE"),
    ("user_id", "users", "SET NULL"),
)


def _reference(table: str, column: str, other: str, ondelete: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}_{other}"
    return sa.ForeignKeyConstraint([column], [f"{other}.id"], name=name, ondelete=ondelete)
