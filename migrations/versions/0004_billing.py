"""Payments: provider events, customers, subscription periods, refunds and totals."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "billing_events",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=True),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_billing_events")),
    )
    op.create_index(op.f("ix_billing_events_email_key"), "billing_events", ["email_key"])
    op.create_index("ix_billing_events_entity_id_occurred_at_id", "billing_events", ["entity_id", "occurred_at", "id"])
    op.create_table(
        "billing_customers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_billing_customers_user_id_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_billing_customers")),
    )
    op.create_index(op.f("ix_billing_customers_user_id"), "billing_customers", ["user_id"])
    op.create_table(
        "subscription_periods",
        sa.Column("subscription_id", sa.String(length=40), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("interval", sa.String(length=20), nullable=False),
        sa.Column("frequency", sa.Integer(), nullable=False),
        sa.Column("monthly_millionths", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscriptions.id"],
            name=op.f("fk_subscription_periods_subscription_id_subscriptions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("subscription_id", "valid_from", name=op.f("pk_subscription_periods")),
    )
    op.create_index(
        "ix_subscription_periods_open",
        "subscription_periods",
        ["currency", "plan", "status", "monthly_millionths", "valid_from"],
        sqlite_where=sa.text("valid_to IS NULL"),
        postgresql_where=sa.text("valid_to IS NULL"),
    )
    op.create_index("ix_subscription_periods_valid_to", "subscription_periods", ["valid_to"])
    op.create_table(
        "refunds",
        sa.Column("provider_id", sa.Text(), nullable=False),
        sa.Column("order_provider_id", sa.Text(), nullable=False),
        sa.Column("customer_id", sa.Text(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("approved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("provider_id", name=op.f("pk_refunds")),
    )
    op.create_index(op.f("ix_refunds_order_provider_id"), "refunds", ["order_provider_id"])
    op.create_table(
        "billing_days",
        sa.Column("day", sa.DateTime(timezone=True), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("revenue_minor", sa.BigInteger(), nullable=False),
        sa.Column("refunds_minor", sa.BigInteger(), nullable=False),
        sa.Column("billed_millionths", sa.BigInteger(), nullable=False),
        sa.Column("billed_count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("day", "currency", name=op.f("pk_billing_days")),
    )


def downgrade() -> None:
    op.drop_table("billing_days")
    op.drop_table("refunds")
    op.drop_table("subscription_periods")
    op.drop_table("billing_customers")
    op.drop_table("billing_events")
