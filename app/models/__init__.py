"""All tables; importing this package makes the metadata whole."""

from app.models import (
    ai_usage,
    base,
    content_search,
    git_credential,
    idempotency,
    login,
    media,
    order,
    organization,
    project,
    project_content,
    project_log,
    project_preview,
    sandbox,
    user,
    user_preference,
)

__all__ = [
    "ai_usage",
    "base",
    "content_search",
    "git_credential",
    "idempotency",
    "login",
    "media",
    "order",
    "organization",
    "project",
    "project_content",
    "project_log",
    "project_preview",
    "sandbox",
    "user",
    "user_preference",
]
