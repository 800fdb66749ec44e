"""All tables; importing this package makes the metadata whole."""

from app.models import (
    base,
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
    user,
    user_preference,
)

__all__ = [
    "base",
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
    "user",
    "user_preference",
]
