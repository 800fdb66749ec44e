"""The tables, indexes and triggers of version 1.0.

Versions before 1.0 created this schema in 26 steps. Their last revision has the same id, so their databases continue here.
"""

import sqlalchemy as sa
from alembic import op
from flask import current_app
from sqlalchemy.dialects import postgresql

revision = "0026"
down_revision = None

ID = sa.String(40)
SHA = sa.String(64)
"""Hexadecimal digests."""
TEXT = sa.Text()
TIME = sa.DateTime(timezone=True)
PATH_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SEARCH_TEXT = sa.Text().with_variant(postgresql.TSVECTOR(), "postgresql")
ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

TABLES = (
    "content_shapes", "repository_imports", "api_tokens", "content_fields", "rate_events", "project_drafts",
    "git_deliveries", "git_revocations", "sandboxes", "ai_budgets", "ai_usage", "billing_days", "refunds",
    "subscription_periods", "billing_customers", "billing_events", "content_links", "content_texts",
    "content_files", "project_previews", "project_log_entries", "media_uploads", "media_assets", "content_indexes",
    "content_blobs", "projects", "orders", "memberships", "local_repositories", "invitations", "user_preferences",
    "subscriptions", "sessions", "pre_orders", "organizations", "one_time_codes", "login_attempts",
    "idempotency_keys", "git_credentials", "accounts", "users",
)  # fmt: skip
"""All tables, each before the tables to which it refers."""

WITH_IMAGES = ("users", "organizations", "projects")

FOLDER = sa.text("rtrim(path, replace(path, '/', ''))")
IS_BLOB = "type = 'blob'"
IS_IMAGE = (
    "type = 'blob' AND lower(substr(path, length(rtrim(path, replace(path, '.', ''))) + 1)) IN ('apng', 'avif', 'bmp', "
    "'gif', 'heic', 'ico', 'jfif', 'jpeg', 'jpg', 'png', 'svg', 'tif', 'tiff', 'webp')"
)

FTS5 = """
CREATE VIRTUAL TABLE content_words USING fts5(
    project_id, words, content='content_texts', content_rowid='id', tokenize="ascii tokenchars '=_'"
)
"""
ON_INSERT = """
CREATE TRIGGER content_texts_insert AFTER INSERT ON content_texts BEGIN
    INSERT INTO content_words (rowid, project_id, words) VALUES (new.id, new.project_id, new.words);
END
"""
ON_DELETE = """
CREATE TRIGGER content_texts_delete AFTER DELETE ON content_texts BEGIN
    INSERT INTO content_words (content_words, rowid, project_id, words)
    VALUES ('delete', old.id, old.project_id, old.words);
END
"""

# Table, index and the number of rows: of the index, then for each value of its first column, its first two columns …
STATISTICS = (
    ("content_files", "sqlite_autoindex_content_files_1", "1000000 200000 200000 1"),
    ("content_files", "ix_content_files_sha", "1000000 200000 200000 2"),
    ("content_files", "ix_content_files_folder", "1000000 200000 200000 50 1"),
    ("content_files", "ix_content_files_image", "20000 5000 5000 1"),
    ("content_blobs", "sqlite_autoindex_content_blobs_1", "100000 50000 1 1"),
    ("content_texts", "sqlite_autoindex_content_texts_1", "1000000 200000 1"),
    ("content_links", "sqlite_autoindex_content_links_1", "1000000 200000 5 1"),
    ("content_links", "ix_content_links_project_id_key", "1000000 200000 10"),
    # A table without row ids is the index of its primary key.
    ("content_fields", "content_fields", "5000000 1000000 50000 20 2 1"),
    ("content_fields", "ix_content_fields_sha", "5000000 1000000 6 1"),
    ("content_shapes", "content_shapes", "1000000 200000 1"),
    ("content_shapes", "ix_content_shapes_shape", "1000000 200000 20000 1"),
)


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", ID, nullable=False),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("email_verified", sa.Boolean(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("image", TEXT, *_image_reference()),
        sa.Column("country", sa.String(2)),
        sa.Column("subscribed", sa.Boolean(), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("provider", sa.String(20), nullable=False),
        sa.Column("password_hash", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("email_key"),
    )
    op.create_table(
        "accounts",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("provider", sa.String(20), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("provider", "subject"),
        sa.UniqueConstraint("user_id", "provider"),
    )
    op.create_index("ix_accounts_user_id", "accounts", ["user_id"])
    op.create_table(
        "git_credentials",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("provider", _enum("provider", "github", "gitlab", "local"), nullable=False),
        sa.Column("account_id", TEXT),
        sa.Column("account_login", TEXT),
        sa.Column("account_name", TEXT),
        sa.Column("token_type", sa.String(40), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("installation_id", ID),
        sa.Column("access_token_secret", TEXT),
        sa.Column("refresh_token_secret", TEXT),
        sa.Column("installation_token_secret", TEXT),
        sa.Column("access_token_expires_at", TIME),
        sa.Column("refresh_token_expires_at", TIME),
        sa.Column("installation_token_expires_at", TIME),
        sa.Column("refresh_hash", SHA),
        sa.Column("previous_refresh_hashes", sa.JSON(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("refreshing_until", TIME),
        sa.Column("last_refreshed_at", TIME),
        sa.Column("token_hint", sa.String(4)),
        sa.Column("status", _enum("credential_status", "active", "needs_reconnect"), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("user_id", "provider"),
    )
    op.create_index("ix_git_credentials_installation_id", "git_credentials", ["installation_id"])
    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("route", sa.String(255), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("request_hash", SHA, nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("body", sa.LargeBinary()),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("headers", sa.JSON()),
        sa.PrimaryKeyConstraint("user_id", "route", "key"),
    )
    op.create_index("ix_idempotency_keys_expires_at", "idempotency_keys", ["expires_at"])
    op.create_table(
        "login_attempts",
        sa.Column("id", ID, nullable=False),
        sa.Column("state_hash", SHA, nullable=False),
        sa.Column("browser_hash", SHA, nullable=False),
        sa.Column("provider", sa.String(20), nullable=False),
        sa.Column("code_verifier", TEXT),
        sa.Column("nonce", TEXT),
        sa.Column("callback_url", TEXT, nullable=False),
        sa.Column("user_id", ID, _cascade("users.id")),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("error_callback_url", TEXT),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("state_hash"),
    )
    op.create_index("ix_login_attempts_user_id", "login_attempts", ["user_id"])
    op.create_table(
        "one_time_codes",
        sa.Column("id", ID, nullable=False),
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("purpose", _enum("purpose", "verify_email", "reset_password"), nullable=False),
        sa.Column("user_id", ID, _cascade("users.id")),
        sa.Column("code_hash", SHA),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("expires_at", TIME),
        sa.Column("sent_at", TIME),
        sa.Column("sent_times", TEXT, nullable=False),
        sa.Column("contested", sa.Boolean(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("email_key", "purpose"),
    )
    op.create_index("ix_one_time_codes_code_hash", "one_time_codes", ["code_hash"])
    op.create_index("ix_one_time_codes_user_id", "one_time_codes", ["user_id"])
    op.create_table(
        "organizations",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("image", TEXT, *_image_reference()),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("owner_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("status", _enum("status", "active", "archived"), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("owner_id", "name"),
    )
    op.create_index(
        "uq_organizations_default_of_owner", "organizations", ["owner_id"], unique=True, **_where("is_default")
    )
    op.create_table(
        "pre_orders",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _set_null("users.id")),
        sa.Column("plan", TEXT, nullable=False),
        sa.Column("email", TEXT),
        sa.Column("billing_period", sa.String(20)),
        sa.Column("country", sa.String(2)),
        sa.Column("source", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_pre_orders_user_id", "pre_orders", ["user_id"])
    op.create_table(
        "sessions",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("token_hash", SHA, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("idle_expires_at", TIME, nullable=False),
        sa.Column("last_seen_at", TIME, nullable=False),
        sa.Column("remember", sa.Boolean(), nullable=False),
        sa.Column("ip_address", sa.String(64)),
        sa.Column("user_agent", sa.String(512)),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_table(
        "subscriptions",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _set_null("users.id")),
        sa.Column("named_user_id", ID),
        sa.Column("customer_id", TEXT, nullable=False),
        sa.Column("provider_id", TEXT, nullable=False),
        sa.Column("plan", TEXT, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("interval", sa.String(20), nullable=False),
        sa.Column("frequency", sa.Integer(), nullable=False),
        sa.Column("current_period_end", TIME),
        sa.Column("cancel_at", TIME),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("canceled_at", TIME),
        sa.Column("canceling_until", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("provider_id"),
    )
    op.create_index("ix_subscriptions_canceled_at_currency", "subscriptions", ["canceled_at", "currency"])
    op.create_index("ix_subscriptions_customer_id", "subscriptions", ["customer_id"])
    op.create_index("ix_subscriptions_started_at_currency", "subscriptions", ["started_at", "currency"])
    op.create_index("ix_subscriptions_user_id", "subscriptions", ["user_id"])
    op.create_table(
        "user_preferences",
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("theme", _enum("theme", "light", "dark", "system"), nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("impersonate", sa.Boolean(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("user_id"),
    )
    op.create_table(
        "invitations",
        sa.Column("id", ID, nullable=False),
        sa.Column("organization_id", ID, _cascade("organizations.id"), nullable=False),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("role", _enum("role", "owner", "admin", "editor"), nullable=False),
        sa.Column("invited_by", ID, _set_null("users.id")),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("organization_id", "email_key"),
    )
    op.create_index("ix_invitations_email_key", "invitations", ["email_key"])
    op.create_index("ix_invitations_invited_by", "invitations", ["invited_by"])
    op.create_table(
        "local_repositories",
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("organization_id", ID, _set_null("organizations.id")),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index("ix_local_repositories_organization_id", "local_repositories", ["organization_id"])
    op.create_table(
        "memberships",
        sa.Column("organization_id", ID, _cascade("organizations.id"), nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("role", _enum("role", "owner", "admin", "editor"), nullable=False),
        sa.Column("joined_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "user_id"),
    )
    op.create_index("ix_memberships_user_id", "memberships", ["user_id"])
    op.create_index(
        "uq_memberships_one_owner", "memberships", ["organization_id"], unique=True, **_where("role = 'owner'")
    )
    op.create_table(
        "orders",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _set_null("users.id")),
        sa.Column("named_user_id", ID),
        sa.Column("customer_id", TEXT, nullable=False),
        sa.Column("subscription_provider_id", TEXT),
        sa.Column("provider_id", TEXT, nullable=False),
        sa.Column("number", TEXT),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("plan", TEXT),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("period", TEXT),
        sa.Column("invoice_url", TEXT),
        sa.Column("completed_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("provider_id"),
    )
    op.create_index("ix_orders_customer_id", "orders", ["customer_id"])
    op.create_index("ix_orders_subscription_provider_id", "orders", ["subscription_provider_id"])
    op.create_index("ix_orders_user_id", "orders", ["user_id"])
    op.create_table(
        "projects",
        sa.Column("id", ID, nullable=False),
        sa.Column("organization_id", ID, _cascade("organizations.id"), nullable=False),
        sa.Column("creator_id", ID, _set_null("users.id")),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("image", TEXT, *_image_reference()),
        sa.Column("site_url", TEXT),
        sa.Column("provider", _enum("provider", "github", "gitlab", "local"), nullable=False),
        sa.Column("repository", TEXT, nullable=False),
        sa.Column("repository_id", TEXT),
        sa.Column("branch", TEXT, nullable=False),
        sa.Column("framework", sa.String(40)),
        sa.Column("generator", sa.String(32)),
        sa.Column("paths", sa.JSON(), nullable=False),
        sa.Column("visibility", _enum("visibility", "public", "private"), nullable=False),
        sa.Column("status", _enum("status", "active", "archived"), nullable=False),
        sa.Column("connection_status", _enum("connection_status", "active", "needs_reconnect"), nullable=False),
        sa.Column("connected_by", ID, _set_null("users.id")),
        sa.Column("connection_account", TEXT),
        sa.Column("installation_id", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("preview_network", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("organization_id", "name"),
    )
    op.create_index("ix_projects_connected_by", "projects", ["connected_by"])
    op.create_index("ix_projects_creator_id", "projects", ["creator_id"])
    op.create_index("ix_projects_provider_repository", "projects", ["provider", "repository"])
    op.create_table(
        "content_blobs",
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("kind", sa.String(120), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "sha", "kind"),
    )
    op.create_table(
        "content_indexes",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("branch", TEXT, nullable=False),
        sa.Column("status", _enum("index_status", "queued", "indexing", "ready", "stale", "failed"), nullable=False),
        sa.Column("commit_sha", SHA),
        sa.Column("described_sha", SHA),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("indexed_at", TIME),
        sa.Column("looked_at", TIME),
        sa.Column("progress", sa.Integer()),
        sa.Column("problem", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("snapshot_sha", SHA),
        sa.Column("snapshot_key", TEXT),
        sa.Column("snapshot_changes", sa.JSON()),
        sa.Column("shaped_sha", SHA),
        sa.Column("listed_sha", SHA),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "branch"),
    )
    op.create_table(
        "media_assets",
        sa.Column("id", ID, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("uploader_id", ID, _set_null("users.id")),
        sa.Column("organization_id", ID, _cascade("organizations.id")),
        sa.Column("project_id", ID, _cascade("projects.id")),
        sa.Column("mimetype", sa.String(40), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("hash", SHA, nullable=False),
        sa.Column("stored_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
    )
    op.create_index("ix_media_assets_organization_id", "media_assets", ["organization_id"])
    op.create_index("ix_media_assets_project_id", "media_assets", ["project_id"])
    op.create_index("ix_media_assets_uploader_id", "media_assets", ["uploader_id"])
    op.create_table(
        "media_uploads",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_media_uploads_user_id_created_at", "media_uploads", ["user_id", "created_at"])
    op.create_table(
        "project_log_entries",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("action", _enum("log_action", "create", "update", "delete", "rename", "duplicate"), nullable=False),
        sa.Column("file", TEXT, nullable=False),
        sa.Column("file_type", sa.String(40)),
        sa.Column("user_id", ID, _set_null("users.id")),
        sa.Column("user_name", TEXT),
        sa.Column("source", _enum("log_source", "client", "commit", "push"), nullable=False),
        sa.Column("commit_sha", SHA),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("token_id", ID),
        sa.Column("token_name", sa.String(80)),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "commit_sha", "file"),
    )
    op.create_index("ix_project_log_entries_project_id_id", "project_log_entries", ["project_id", "id"])
    op.create_index("ix_project_log_entries_user_id", "project_log_entries", ["user_id"])
    op.create_table(
        "project_previews",
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("sandbox_id", sa.String(80)),
        sa.Column("sandbox_name", TEXT),
        sa.Column("preview_url", TEXT),
        sa.Column("urls", sa.JSON(), nullable=False),
        sa.Column("state", _enum("preview_state", "starting", "running", "stopped", "failed"), nullable=False),
        sa.Column("commit_sha", SHA),
        sa.Column("expires_at", TIME),
        sa.Column("last_used_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("failure", sa.JSON()),
        sa.PrimaryKeyConstraint("project_id"),
        sa.UniqueConstraint("sandbox_id"),
    )
    op.create_table(
        "content_files",
        sa.Column("index_id", ID, nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("path", PATH_TEXT, nullable=False),
        sa.Column("type", sa.String(8), nullable=False),
        sa.Column("mode", sa.String(6), nullable=False),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("size", sa.BigInteger()),
        sa.Column("folded", TEXT),
        sa.Column("last_commit", sa.JSON()),
        sa.Column("title_key", PATH_TEXT),
        sa.Column("date_key", PATH_TEXT),
        sa.Column("is_draft", sa.Boolean()),
        sa.PrimaryKeyConstraint("index_id", "generation", "path"),
    )
    op.create_index("ix_content_files_sha", "content_files", ["index_id", "generation", "sha"])
    op.create_table(
        "content_texts",
        sa.Column("id", ROW_NUMBER, nullable=False),
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("title", TEXT),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("words", SEARCH_TEXT, nullable=False),
        sa.Column("front_matter", sa.JSON()),
        sa.Column("version", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "sha"),
    )
    op.create_table(
        "content_links",
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("kind", sa.String(12), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "sha", "number"),
    )
    op.create_index("ix_content_links_project_id_key", "content_links", ["project_id", "key"])
    op.create_table(
        "billing_events",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("entity_id", TEXT, nullable=False),
        sa.Column("occurred_at", TIME, nullable=False),
        sa.Column("email_key", TEXT),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("received_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_billing_events_email_key", "billing_events", ["email_key"])
    op.create_index("ix_billing_events_entity_id_occurred_at_id", "billing_events", ["entity_id", "occurred_at", "id"])
    op.create_table(
        "billing_customers",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("user_id", ID, _set_null("users.id")),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_billing_customers_user_id", "billing_customers", ["user_id"])
    op.create_table(
        "subscription_periods",
        sa.Column("subscription_id", ID, _cascade("subscriptions.id"), nullable=False),
        sa.Column("valid_from", TIME, nullable=False),
        sa.Column("valid_to", TIME),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("plan", TEXT, nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("interval", sa.String(20), nullable=False),
        sa.Column("frequency", sa.Integer(), nullable=False),
        sa.Column("monthly_millionths", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", "valid_from"),
    )
    op.create_index(
        "ix_subscription_periods_open",
        "subscription_periods",
        ["currency", "plan", "status", "monthly_millionths", "valid_from"],
        **_where("valid_to IS NULL"),
    )
    op.create_index("ix_subscription_periods_valid_to", "subscription_periods", ["valid_to"])
    op.create_table(
        "refunds",
        sa.Column("provider_id", TEXT, nullable=False),
        sa.Column("order_provider_id", TEXT, nullable=False),
        sa.Column("customer_id", TEXT, nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("approved_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("provider_id"),
    )
    op.create_index("ix_refunds_order_provider_id", "refunds", ["order_provider_id"])
    op.create_table(
        "billing_days",
        sa.Column("day", TIME, nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("revenue_minor", sa.BigInteger(), nullable=False),
        sa.Column("refunds_minor", sa.BigInteger(), nullable=False),
        sa.Column("billed_millionths", sa.BigInteger(), nullable=False),
        sa.Column("billed_count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("day", "currency"),
    )
    op.create_table(
        "ai_usage",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("organization_id", ID, _set_null("organizations.id")),
        sa.Column("handler", sa.String(32), nullable=False),
        sa.Column("provider", sa.String(16), nullable=False),
        sa.Column("model", sa.String(80), nullable=False),
        sa.Column("own_key", sa.Boolean(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_ai_usage_organization_id", "ai_usage", ["organization_id"])
    op.create_index("ix_ai_usage_user_id_created_at", "ai_usage", ["user_id", "created_at"])
    op.create_table(
        "ai_budgets",
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "day"),
    )
    op.create_table(
        "sandboxes",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("user_id", ID, _set_null("users.id")),
        sa.Column("label", sa.String(40), nullable=False),
        sa.Column("node", sa.String(255), nullable=False),
        sa.Column("reference", sa.String(255)),
        sa.Column("state", _enum("sandbox_state", "starting", "running", "stopped", "failed"), nullable=False),
        sa.Column("commit_sha", SHA),
        sa.Column("code", sa.String(64)),
        sa.Column("problem", TEXT),
        sa.Column("log", TEXT),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("tended_at", TIME),
        sa.Column("start_id", sa.String(64)),
        sa.Column("step", sa.String(64)),
        sa.Column("hint", TEXT),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("label"),
    )
    op.create_index("ix_sandboxes_expires_at", "sandboxes", ["expires_at"])
    op.create_index("ix_sandboxes_project_id", "sandboxes", ["project_id"])
    op.create_index("ix_sandboxes_user_id", "sandboxes", ["user_id"])
    op.create_index(
        "uq_sandboxes_live_of_project",
        "sandboxes",
        ["project_id"],
        unique=True,
        **_where("state IN ('starting', 'running')"),
    )
    op.create_table(
        "git_revocations",
        sa.Column("id", ID, nullable=False),
        sa.Column("provider", _enum("provider", "github", "gitlab", "local"), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("token_secret", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "git_deliveries",
        sa.Column("provider", sa.String(20), nullable=False),
        sa.Column("delivery", sa.String(64), nullable=False),
        sa.Column("received_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("provider", "delivery"),
    )
    op.create_index("ix_git_deliveries_received_at", "git_deliveries", ["received_at"])
    op.create_table(
        "project_drafts",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("branch", TEXT, nullable=False),
        sa.Column("file", TEXT, nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.Column("base_blob_sha", SHA),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "user_id", "branch", "file"),
    )
    op.create_index("ix_project_drafts_user_id", "project_drafts", ["user_id"])
    op.create_table(
        "rate_events",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("key", sa.String(24), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_rate_events_created_at", "rate_events", ["created_at"])
    op.create_index("ix_rate_events_name_key_created_at", "rate_events", ["name", "key", "created_at"])
    op.create_table(
        "content_fields",
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("name", PATH_TEXT, nullable=False),
        sa.Column("key", PATH_TEXT, nullable=False),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("kind", sa.String(1), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "name", "key", "sha", "number"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_content_fields_sha", "content_fields", ["project_id", "sha", "name"])
    op.create_table(
        "api_tokens",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("organization_id", ID, _cascade("organizations.id")),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("token_hash", SHA, nullable=False),
        sa.Column("token_hint", sa.String(8), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("projects", sa.JSON()),
        sa.Column("issued_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME),
        sa.Column("revoked_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_index("ix_api_tokens_expires_at", "api_tokens", ["expires_at"])
    op.create_index("ix_api_tokens_organization_id", "api_tokens", ["organization_id"])
    op.create_index("ix_api_tokens_user_id", "api_tokens", ["user_id"])
    op.create_table(
        "repository_imports",
        sa.Column("id", ID, nullable=False),
        sa.Column("organization_id", ID, _cascade("organizations.id"), nullable=False),
        sa.Column("user_id", ID, _cascade("users.id"), nullable=False),
        sa.Column("project_id", ID, _set_null("projects.id")),
        sa.Column("repository", sa.String(255), nullable=False),
        sa.Column("project_name", sa.String(100), nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("status", _enum("import_status", "waiting", "running", "connected", "failed"), nullable=False),
        sa.Column("received_bytes", sa.BigInteger(), nullable=False),
        sa.Column("problem", sa.String(40)),
        sa.Column("problem_text", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_repository_imports_organization_id", "repository_imports", ["organization_id"])
    op.create_index("ix_repository_imports_project_id", "repository_imports", ["project_id"])
    op.create_index("ix_repository_imports_user_id", "repository_imports", ["user_id"])
    op.create_table(
        "content_shapes",
        sa.Column("project_id", ID, _cascade("projects.id"), nullable=False),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("shape", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "sha"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_content_shapes_shape", "content_shapes", ["project_id", "shape", "sha"])
    for table in WITH_IMAGES:
        op.create_index(f"ix_{table}_image", table, ["image"])
    op.create_index(
        "ix_content_files_folder", "content_files", ["index_id", "generation", FOLDER, "path"], **_where(IS_BLOB)
    )
    op.create_index("ix_content_files_image", "content_files", ["index_id", "generation", "path"], **_where(IS_IMAGE))
    if _is_sqlite():
        for statement in (FTS5, ON_INSERT, ON_DELETE):
            op.execute(statement)
        _store_statistics()
    else:
        op.create_index("ix_content_texts_words", "content_texts", ["words"], postgresql_using="gin")
        for table in WITH_IMAGES:
            op.create_foreign_key(_image_key(table), table, "media_assets", ["image"], ["key"], ondelete="SET NULL")
    current_app.extensions["jobs"].install(op.get_bind())


def downgrade() -> None:
    current_app.extensions["jobs"].uninstall(op.get_bind())
    if _is_sqlite():
        op.execute("DROP TABLE content_words")
        op.execute("DELETE FROM sqlite_stat1 WHERE tbl LIKE 'content_%'")
    else:
        for table in WITH_IMAGES:
            op.drop_constraint(_image_key(table), table, type_="foreignkey")
    for table in TABLES:
        op.drop_table(table)


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _enum(name, *values):
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def _cascade(target):
    return sa.ForeignKey(target, ondelete="CASCADE")


def _set_null(target):
    return sa.ForeignKey(target, ondelete="SET NULL")


def _where(condition):
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _image_reference():
    """SQLite accepts a reference to a table that is created later. PostgreSQL receives the constraint at the end."""
    return [_set_null("media_assets.key")] if _is_sqlite() else []


def _image_key(table):
    return f"fk_{table}_image_media_assets"


def _store_statistics():
    """Store the statistics of a large project in SQLite.

    SQLite assumes ten rows for the first column of each index, for example for all files of a project. It then reads all
    of them instead of using a better index. Statistics that `ANALYZE` collects replace these.
    """
    # This creates the table of statistics.
    op.execute("ANALYZE alembic_version")
    insert = sa.text("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (:tbl, :idx, :stat)")
    rows = [{"tbl": table, "idx": index, "stat": numbers} for table, index, numbers in STATISTICS]
    op.get_bind().execute(insert, rows)
    # This loads the rows into the connection. Other connections load them with the schema.
    op.execute("ANALYZE sqlite_schema")
