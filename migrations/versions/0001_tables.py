"""The tables of every resource."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

IMAGES = ("users", "organizations", "projects")


def _name(table):
    return f"fk_{table}_image_media_assets"


def _image_key(name):
    """SQLite takes a reference to a table that comes later; PostgreSQL gets it at the end."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.ForeignKeyConstraint(["image"], ["media_assets.key"], name=name, ondelete="SET NULL")]


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column("email_verified", sa.Boolean(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("country", sa.String(length=2), nullable=True),
        sa.Column("subscribed", sa.Boolean(), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("provider", sa.String(length=20), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        *_image_key(op.f("fk_users_image_media_assets")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email_key", name=op.f("uq_users_email_key")),
    )
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("provider", sa.String(length=20), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_accounts_user_id_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("provider", "subject", name=op.f("uq_accounts_provider_subject")),
        sa.UniqueConstraint("user_id", "provider", name=op.f("uq_accounts_user_id_provider")),
    )
    op.create_index(op.f("ix_accounts_user_id"), "accounts", ["user_id"], unique=False)
    op.create_table(
        "git_credentials",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column(
            "provider",
            sa.Enum("github", "gitlab", "local", name="provider", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("account_id", sa.Text(), nullable=True),
        sa.Column("account_login", sa.Text(), nullable=True),
        sa.Column("account_name", sa.Text(), nullable=True),
        sa.Column("token_type", sa.String(length=40), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("installation_id", sa.String(length=40), nullable=True),
        sa.Column("access_token_secret", sa.Text(), nullable=True),
        sa.Column("refresh_token_secret", sa.Text(), nullable=True),
        sa.Column("installation_token_secret", sa.Text(), nullable=True),
        sa.Column("access_token_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refresh_token_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("installation_token_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refresh_hash", sa.String(length=64), nullable=True),
        sa.Column("previous_refresh_hashes", sa.JSON(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("refreshing_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_refreshed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("token_hint", sa.String(length=4), nullable=True),
        sa.Column(
            "status",
            sa.Enum(
                "active",
                "needs_reconnect",
                name="credential_status",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_git_credentials_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_git_credentials")),
        sa.UniqueConstraint("user_id", "provider", name=op.f("uq_git_credentials_user_id_provider")),
    )
    op.create_index(op.f("ix_git_credentials_installation_id"), "git_credentials", ["installation_id"], unique=False)
    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("route", sa.String(length=255), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_idempotency_keys_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "route", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_expires_at"), "idempotency_keys", ["expires_at"], unique=False)
    op.create_table(
        "login_attempts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("state_hash", sa.String(length=64), nullable=False),
        sa.Column("browser_hash", sa.String(length=64), nullable=False),
        sa.Column("provider", sa.String(length=20), nullable=False),
        sa.Column("code_verifier", sa.Text(), nullable=True),
        sa.Column("nonce", sa.Text(), nullable=True),
        sa.Column("callback_url", sa.Text(), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_login_attempts_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_attempts")),
        sa.UniqueConstraint("state_hash", name=op.f("uq_login_attempts_state_hash")),
    )
    op.create_index(op.f("ix_login_attempts_user_id"), "login_attempts", ["user_id"], unique=False)
    op.create_table(
        "one_time_codes",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column(
            "purpose",
            sa.Enum(
                "verify_email", "reset_password", name="purpose", native_enum=False, create_constraint=True, length=32
            ),
            nullable=False,
        ),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("code_hash", sa.String(length=64), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_times", sa.Text(), nullable=False),
        sa.Column("contested", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_one_time_codes_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_one_time_codes")),
        sa.UniqueConstraint("email_key", "purpose", name=op.f("uq_one_time_codes_email_key_purpose")),
    )
    op.create_index(op.f("ix_one_time_codes_code_hash"), "one_time_codes", ["code_hash"], unique=False)
    op.create_index(op.f("ix_one_time_codes_user_id"), "one_time_codes", ["user_id"], unique=False)
    op.create_table(
        "organizations",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("owner_id", sa.String(length=40), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column(
            "status",
            sa.Enum("active", "archived", name="status", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        *_image_key(op.f("fk_organizations_image_media_assets")),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["users.id"], name=op.f("fk_organizations_owner_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizations")),
        sa.UniqueConstraint("owner_id", "name", name=op.f("uq_organizations_owner_id_name")),
    )
    op.create_index(
        "uq_organizations_default_of_owner",
        "organizations",
        ["owner_id"],
        unique=True,
        sqlite_where=sa.text("is_default"),
        postgresql_where=sa.text("is_default"),
    )
    op.create_table(
        "pre_orders",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("billing_period", sa.String(length=20), nullable=True),
        sa.Column("country", sa.String(length=2), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_pre_orders_user_id_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pre_orders")),
    )
    op.create_index(op.f("ix_pre_orders_user_id"), "pre_orders", ["user_id"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("idle_expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("remember", sa.Boolean(), nullable=False),
        sa.Column("ip_address", sa.String(length=64), nullable=True),
        sa.Column("user_agent", sa.String(length=512), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sessions_token_hash")),
    )
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"], unique=False)
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("named_user_id", sa.String(length=40), nullable=True),
        sa.Column("customer_id", sa.Text(), nullable=False),
        sa.Column("provider_id", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("interval", sa.String(length=20), nullable=False),
        sa.Column("frequency", sa.Integer(), nullable=False),
        sa.Column("current_period_end", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("canceled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("canceling_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_subscriptions_user_id_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subscriptions")),
        sa.UniqueConstraint("provider_id", name=op.f("uq_subscriptions_provider_id")),
    )
    op.create_index("ix_subscriptions_canceled_at_currency", "subscriptions", ["canceled_at", "currency"])
    op.create_index(op.f("ix_subscriptions_customer_id"), "subscriptions", ["customer_id"], unique=False)
    op.create_index("ix_subscriptions_started_at_currency", "subscriptions", ["started_at", "currency"])
    op.create_index(op.f("ix_subscriptions_user_id"), "subscriptions", ["user_id"], unique=False)
    op.create_table(
        "user_preferences",
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column(
            "theme",
            sa.Enum("light", "dark", "system", name="theme", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("language", sa.String(length=8), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("impersonate", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_user_preferences_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_user_preferences")),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("organization_id", sa.String(length=40), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column(
            "role",
            sa.Enum("owner", "admin", "editor", name="role", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("invited_by", sa.String(length=40), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["invited_by"], ["users.id"], name=op.f("fk_invitations_invited_by_users"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_invitations_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("organization_id", "email_key", name=op.f("uq_invitations_organization_id_email_key")),
    )
    op.create_index(op.f("ix_invitations_email_key"), "invitations", ["email_key"], unique=False)
    op.create_index(op.f("ix_invitations_invited_by"), "invitations", ["invited_by"], unique=False)
    op.create_table(
        "local_repositories",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("organization_id", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_local_repositories_organization_id_organizations"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_local_repositories")),
    )
    op.create_index(
        op.f("ix_local_repositories_organization_id"), "local_repositories", ["organization_id"], unique=False
    )
    op.create_table(
        "memberships",
        sa.Column("organization_id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column(
            "role",
            sa.Enum("owner", "admin", "editor", name="role", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_memberships_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_memberships_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("organization_id", "user_id", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_user_id"), "memberships", ["user_id"], unique=False)
    op.create_index(
        "uq_memberships_one_owner",
        "memberships",
        ["organization_id"],
        unique=True,
        sqlite_where=sa.text("role = 'owner'"),
        postgresql_where=sa.text("role = 'owner'"),
    )
    op.create_table(
        "orders",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("named_user_id", sa.String(length=40), nullable=True),
        sa.Column("customer_id", sa.Text(), nullable=False),
        sa.Column("subscription_provider_id", sa.Text(), nullable=True),
        sa.Column("provider_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Text(), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("plan", sa.Text(), nullable=True),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("period", sa.Text(), nullable=True),
        sa.Column("invoice_url", sa.Text(), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_orders_user_id_users"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orders")),
        sa.UniqueConstraint("provider_id", name=op.f("uq_orders_provider_id")),
    )
    op.create_index(op.f("ix_orders_customer_id"), "orders", ["customer_id"], unique=False)
    op.create_index(op.f("ix_orders_subscription_provider_id"), "orders", ["subscription_provider_id"], unique=False)
    op.create_index(op.f("ix_orders_user_id"), "orders", ["user_id"], unique=False)
    op.create_table(
        "projects",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("organization_id", sa.String(length=40), nullable=False),
        sa.Column("creator_id", sa.String(length=40), nullable=True),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("site_url", sa.Text(), nullable=True),
        sa.Column(
            "provider",
            sa.Enum("github", "gitlab", "local", name="provider", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("repository", sa.Text(), nullable=False),
        sa.Column("repository_id", sa.Text(), nullable=True),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("framework", sa.String(length=40), nullable=True),
        sa.Column(
            "generator",
            sa.Enum(
                "hugo",
                "astro",
                "nextjs",
                "eleventy",
                "jekyll",
                "nuxt",
                "sveltekit",
                "gatsby",
                "tanstack",
                "static",
                name="generator",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column("paths", sa.JSON(), nullable=False),
        sa.Column(
            "visibility",
            sa.Enum("public", "private", name="visibility", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column(
            "status",
            sa.Enum("active", "archived", name="status", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column(
            "connection_status",
            sa.Enum(
                "active",
                "needs_reconnect",
                name="connection_status",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("connected_by", sa.String(length=40), nullable=True),
        sa.Column("connection_account", sa.Text(), nullable=True),
        sa.Column("installation_id", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["connected_by"], ["users.id"], name=op.f("fk_projects_connected_by_users"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["creator_id"], ["users.id"], name=op.f("fk_projects_creator_id_users"), ondelete="SET NULL"
        ),
        *_image_key(op.f("fk_projects_image_media_assets")),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_projects_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sa.UniqueConstraint("organization_id", "name", name=op.f("uq_projects_organization_id_name")),
    )
    op.create_index(op.f("ix_projects_connected_by"), "projects", ["connected_by"], unique=False)
    op.create_index(op.f("ix_projects_creator_id"), "projects", ["creator_id"], unique=False)
    op.create_index("ix_projects_provider_repository", "projects", ["provider", "repository"], unique=False)
    op.create_table(
        "content_blobs",
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=120), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_content_blobs_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "sha", "kind", name=op.f("pk_content_blobs")),
    )
    op.create_table(
        "content_indexes",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "queued",
                "indexing",
                "ready",
                "stale",
                "failed",
                name="index_status",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("commit_sha", sa.String(length=64), nullable=True),
        sa.Column("described_sha", sa.String(length=64), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("indexed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("looked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("progress", sa.Integer(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_content_indexes_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_content_indexes")),
        sa.UniqueConstraint("project_id", "branch", name=op.f("uq_content_indexes_project_id_branch")),
    )
    op.create_table(
        "media_assets",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("uploader_id", sa.String(length=40), nullable=True),
        sa.Column("organization_id", sa.String(length=40), nullable=True),
        sa.Column("project_id", sa.String(length=40), nullable=True),
        sa.Column("mimetype", sa.String(length=40), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_media_assets_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_media_assets_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["uploader_id"], ["users.id"], name=op.f("fk_media_assets_uploader_id_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_media_assets")),
        sa.UniqueConstraint("key", name=op.f("uq_media_assets_key")),
    )
    op.create_index(op.f("ix_media_assets_organization_id"), "media_assets", ["organization_id"], unique=False)
    op.create_index(op.f("ix_media_assets_project_id"), "media_assets", ["project_id"], unique=False)
    op.create_index(op.f("ix_media_assets_uploader_id"), "media_assets", ["uploader_id"], unique=False)
    op.create_table(
        "media_uploads",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("user_id", sa.String(length=40), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_media_uploads_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_media_uploads")),
    )
    op.create_index("ix_media_uploads_user_id_created_at", "media_uploads", ["user_id", "created_at"], unique=False)
    op.create_table(
        "project_log_entries",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column(
            "action",
            sa.Enum(
                "create",
                "update",
                "delete",
                "rename",
                "duplicate",
                name="log_action",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("file_type", sa.String(length=40), nullable=True),
        sa.Column("user_id", sa.String(length=40), nullable=True),
        sa.Column("user_name", sa.Text(), nullable=True),
        sa.Column(
            "source",
            sa.Enum(
                "client", "commit", "push", name="log_source", native_enum=False, create_constraint=True, length=32
            ),
            nullable=False,
        ),
        sa.Column("commit_sha", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_project_log_entries_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_project_log_entries_user_id_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project_log_entries")),
        sa.UniqueConstraint(
            "project_id", "commit_sha", "file", name=op.f("uq_project_log_entries_project_id_commit_sha_file")
        ),
    )
    op.create_index("ix_project_log_entries_project_id_id", "project_log_entries", ["project_id", "id"], unique=False)
    op.create_index(op.f("ix_project_log_entries_user_id"), "project_log_entries", ["user_id"], unique=False)
    op.create_table(
        "project_previews",
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("sandbox_id", sa.String(length=80), nullable=True),
        sa.Column("sandbox_name", sa.Text(), nullable=True),
        sa.Column("preview_url", sa.Text(), nullable=True),
        sa.Column("urls", sa.JSON(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "starting",
                "running",
                "stopped",
                "failed",
                name="preview_state",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("commit_sha", sa.String(length=64), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_project_previews_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_project_previews")),
        sa.UniqueConstraint("sandbox_id", name=op.f("uq_project_previews_sandbox_id")),
    )
    op.create_table(
        "content_files",
        sa.Column("index_id", sa.String(length=40), nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("path", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("type", sa.String(length=8), nullable=False),
        sa.Column("mode", sa.String(length=6), nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("folded", sa.Text(), nullable=True),
        sa.Column("last_commit", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("index_id", "generation", "path", name=op.f("pk_content_files")),
    )
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
    for table in IMAGES:
        op.create_index(f"ix_{table}_image", table, ["image"], unique=False)
    if op.get_bind().dialect.name != "sqlite":
        for table in IMAGES:
            op.create_foreign_key(_name(table), table, "media_assets", ["image"], ["key"], ondelete="SET NULL")


def downgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        for table in IMAGES:
            op.drop_constraint(_name(table), table, type_="foreignkey")
    for table in IMAGES:
        op.drop_index(f"ix_{table}_image", table_name=table)
    op.drop_table("content_snapshots")
    op.drop_table("content_files")
    op.drop_table("project_previews")
    op.drop_index(op.f("ix_project_log_entries_user_id"), table_name="project_log_entries")
    op.drop_index("ix_project_log_entries_project_id_id", table_name="project_log_entries")
    op.drop_table("project_log_entries")
    op.drop_index("ix_media_uploads_user_id_created_at", table_name="media_uploads")
    op.drop_table("media_uploads")
    op.drop_index(op.f("ix_media_assets_uploader_id"), table_name="media_assets")
    op.drop_index(op.f("ix_media_assets_project_id"), table_name="media_assets")
    op.drop_index(op.f("ix_media_assets_organization_id"), table_name="media_assets")
    op.drop_table("media_assets")
    op.drop_table("content_indexes")
    op.drop_table("content_blobs")
    op.drop_index("ix_projects_provider_repository", table_name="projects")
    op.drop_index(op.f("ix_projects_creator_id"), table_name="projects")
    op.drop_index(op.f("ix_projects_connected_by"), table_name="projects")
    op.drop_table("projects")
    op.drop_index(op.f("ix_orders_user_id"), table_name="orders")
    op.drop_index(op.f("ix_orders_subscription_provider_id"), table_name="orders")
    op.drop_index(op.f("ix_orders_customer_id"), table_name="orders")
    op.drop_table("orders")
    op.drop_index(
        "uq_memberships_one_owner",
        table_name="memberships",
        sqlite_where=sa.text("role = 'owner'"),
        postgresql_where=sa.text("role = 'owner'"),
    )
    op.drop_index(op.f("ix_memberships_user_id"), table_name="memberships")
    op.drop_table("memberships")
    op.drop_index(op.f("ix_local_repositories_organization_id"), table_name="local_repositories")
    op.drop_table("local_repositories")
    op.drop_index(op.f("ix_invitations_invited_by"), table_name="invitations")
    op.drop_index(op.f("ix_invitations_email_key"), table_name="invitations")
    op.drop_table("invitations")
    op.drop_table("user_preferences")
    op.drop_index(op.f("ix_subscriptions_user_id"), table_name="subscriptions")
    op.drop_index("ix_subscriptions_started_at_currency", table_name="subscriptions")
    op.drop_index(op.f("ix_subscriptions_customer_id"), table_name="subscriptions")
    op.drop_index("ix_subscriptions_canceled_at_currency", table_name="subscriptions")
    op.drop_table("subscriptions")
    op.drop_index(op.f("ix_sessions_user_id"), table_name="sessions")
    op.drop_table("sessions")
    op.drop_index(op.f("ix_pre_orders_user_id"), table_name="pre_orders")
    op.drop_table("pre_orders")
    op.drop_index(
        "uq_organizations_default_of_owner",
        table_name="organizations",
        sqlite_where=sa.text("is_default"),
        postgresql_where=sa.text("is_default"),
    )
    op.drop_table("organizations")
    op.drop_index(op.f("ix_one_time_codes_code_hash"), table_name="one_time_codes")
    op.drop_index(op.f("ix_one_time_codes_user_id"), table_name="one_time_codes")
    op.drop_table("one_time_codes")
    op.drop_index(op.f("ix_login_attempts_user_id"), table_name="login_attempts")
    op.drop_table("login_attempts")
    op.drop_index(op.f("ix_idempotency_keys_expires_at"), table_name="idempotency_keys")
    op.drop_table("idempotency_keys")
    op.drop_index(op.f("ix_git_credentials_installation_id"), table_name="git_credentials")
    op.drop_table("git_credentials")
    op.drop_index(op.f("ix_accounts_user_id"), table_name="accounts")
    op.drop_table("accounts")
    op.drop_table("users")
