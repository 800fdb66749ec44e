"""All pages of the console. The import of a module registers its routes."""

from app.console.account import account_pages, administration, billing, home, profile, provider_pages, token_pages
from app.console.blueprint import ROOT, blueprint
from app.console.editor import (
    conflict,
    draft_images,
    editor_pages,
    links,
    new_entry_page,
    relations,
    removed_page,
    suggestions,
)
from app.console.organization import connect, imports, organizations, webhooks
from app.console.project import (
    bulk,
    collections,
    connect_page,
    content,
    history,
    media,
    preview,
    project_home,
    project_settings,
    rebuild,
    thumbnails,
)
from app.console.shell import errors, headers, static_files

__all__ = [
    "ROOT",
    "account_pages",
    "administration",
    "billing",
    "blueprint",
    "bulk",
    "collections",
    "conflict",
    "connect",
    "connect_page",
    "content",
    "draft_images",
    "editor_pages",
    "errors",
    "headers",
    "history",
    "home",
    "imports",
    "links",
    "media",
    "new_entry_page",
    "organizations",
    "preview",
    "profile",
    "project_home",
    "project_settings",
    "provider_pages",
    "rebuild",
    "relations",
    "removed_page",
    "static_files",
    "suggestions",
    "thumbnails",
    "token_pages",
    "webhooks",
]
