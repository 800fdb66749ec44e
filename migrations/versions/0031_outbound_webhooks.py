"""The tables of outbound webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

ID = sa.String(40)


def _enum(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _key(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}_{target}"
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete="CASCADE")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", ID, nullable=False),
        sa.Column("organization_id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=True),
        sa.Column("format", _enum("webhook_format", "standard", "empty"), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("description", sa.String(200), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("url_secret", sa.Text(), nullable=False),
        sa.Column("signing_secret", sa.Text(), nullable=True),
        sa.Column("previous_signing_secret", sa.Text(), nullable=True),
        _time("rotated_at", nullable=True),
        sa.Column("state", _enum("webhook_state", "active", "paused", "disabled"), nullable=False),
        sa.Column("disabled_reason", _enum("disabled_reason", "gone", "failing"), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        _time("failing_since", nullable=True),
        _time("blocked_until", nullable=True),
        _time("called_at", nullable=True),
        sa.Column("is_closing", sa.Boolean(), nullable=False),
        _time("created_at"),
        _time("updated_at"),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_endpoints"),
        _key("webhook_endpoints", "organization_id", "organizations"),
    )
    op.create_index("ix_webhook_endpoints_organization_id", "webhook_endpoints", ["organization_id"])
    op.create_index("ix_webhook_endpoints_project_id", "webhook_endpoints", ["project_id"])
    op.create_table(
        "webhook_messages",
        sa.Column("id", ID, nullable=False),
        sa.Column("organization_id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=True),
        sa.Column("type", sa.String(40), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_messages"),
        _key("webhook_messages", "organization_id", "organizations"),
    )
    op.create_index("ix_webhook_messages_organization_id", "webhook_messages", ["organization_id"])
    op.create_index("ix_webhook_messages_created_at", "webhook_messages", ["created_at"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", ID, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("endpoint_id", ID, nullable=False),
        sa.Column("state", _enum("delivery_state", "waiting", "delivered", "failed", "discarded"), nullable=False),
        _time("next_at"),
        sa.Column("attempts", sa.Integer(), nullable=False),
        _time("called_at", nullable=True),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_deliveries"),
        _key("webhook_deliveries", "message_id", "webhook_messages"),
        _key("webhook_deliveries", "endpoint_id", "webhook_endpoints"),
        sa.UniqueConstraint("message_id", "endpoint_id", name="uq_webhook_deliveries_message_id_endpoint_id"),
    )
    op.create_index(
        "ix_webhook_deliveries_endpoint_id_state_next_at", "webhook_deliveries", ["endpoint_id", "state", "next_at"]
    )
    op.create_index("ix_webhook_deliveries_endpoint_id_id", "webhook_deliveries", ["endpoint_id", "id"])
    op.create_table(
        "webhook_attempts",
        sa.Column("id", ID, nullable=False),
        sa.Column("delivery_id", ID, nullable=False),
        _time("created_at"),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(40), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("response", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_attempts"),
        _key("webhook_attempts", "delivery_id", "webhook_deliveries"),
    )
    op.create_index("ix_webhook_attempts_delivery_id", "webhook_attempts", ["delivery_id"])
    op.create_table(
        "webhook_projects",
        sa.Column("project_id", ID, nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("is_disconnected", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name="pk_webhook_projects"),
        _key("webhook_projects", "project_id", "projects"),
    )


def downgrade() -> None:
    """Drop the tables."""
    for table in (
        "webhook_projects",
        "webhook_attempts",
        "webhook_deliveries",
        "webhook_messages",
        "webhook_endpoints",
    ):
        op.drop_table(table)
