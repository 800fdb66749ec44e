"""The blueprints of both surfaces in the order of the specification: REST under /api/v1, handlers under /api."""

from flask import Blueprint, Flask

from app.console.routes import ROOT as CONSOLE
from app.console.routes import blueprint as console
from app.console.shell.mail_links import blueprint as console_links
from app.http.endpoint import find_endpoint
from app.resources.ai.routes import blueprint as ai
from app.resources.ai.routes import usage_blueprint as ai_usage
from app.resources.api_token.routes.service_accounts import blueprint as service_account
from app.resources.api_token.routes.tokens import blueprint as api_token
from app.resources.auth.routes.account import blueprint as auth_account
from app.resources.auth.routes.email import blueprint as auth
from app.resources.auth.routes.social import blueprint as auth_social
from app.resources.bucket.routes import blueprint as bucket
from app.resources.bucket.routes import media
from app.resources.git_provider.routes.credentials import blueprint as git_provider
from app.resources.git_provider.routes.exchange import blueprint as git_exchange
from app.resources.order.routes import blueprint as order
from app.resources.organization.routes import blueprint as organization
from app.resources.project.routes.projects import blueprint as project
from app.resources.project.routes.pull_requests import blueprint as pull_requests
from app.resources.project_content.routes import blueprint as project_content
from app.resources.project_draft.routes import blueprint as project_draft
from app.resources.project_log.routes import blueprint as project_log
from app.resources.project_preview.routes import blueprint as project_preview
from app.resources.project_schema.routes import blueprint as project_schema
from app.resources.sandbox.routes import blueprint as sandbox
from app.resources.system.routes import blueprint as system
from app.resources.user.routes import blueprint as user
from app.resources.user_preference.routes import blueprint as user_preference
from app.resources.webhooks.routes.billing import blueprint as billing_webhooks
from app.resources.webhooks.routes.git import blueprint as git_webhooks

UNVERSIONED: tuple[tuple[str, Blueprint], ...] = (("", system), ("", media), (CONSOLE, console), ("", console_links))

VERSIONED: tuple[tuple[str, Blueprint], ...] = (
    ("/auth", auth),
    ("/auth", auth_social),
    ("/auth", auth_account),
    ("/user", user),
    ("/organization", organization),
    ("/organization", service_account),
    ("/tokens", api_token),
    ("/user-preference", user_preference),
    ("/project", project),
    ("/project", pull_requests),
    ("/project-preview", project_preview),
    ("/git-provider", git_provider),
    ("/provider", git_provider),
    ("/project-content", project_content),
    ("/project", project_schema),
    ("/project-log", project_log),
    ("/project-draft", project_draft),
    ("/bucket", bucket),
    ("/order", order),
    ("/ai", ai_usage),
)

HANDLERS: tuple[tuple[str, Blueprint], ...] = (
    ("/auth", git_exchange),
    ("/ai", ai),
    ("/sandbox", sandbox),
    ("/webhooks", billing_webhooks),
    ("/webhooks", git_webhooks),
)


def register(app: Flask) -> None:
    """Register every blueprint and check that each route has a declaration.

    Raises:
        RuntimeError: a route has no `@endpoint`.
    """
    for base, table in (("", UNVERSIONED), ("/api/v1", VERSIONED), ("/api", HANDLERS)):
        for prefix, blueprint in table:
            mounted = blueprint.name in app.blueprints
            name = f"{blueprint.name}{prefix.replace('/', '_')}" if mounted else blueprint.name
            app.register_blueprint(blueprint, url_prefix=f"{base}{prefix}" or None, name=name)
    _check_declared(app, {blueprint.name for table in (UNVERSIONED, VERSIONED, HANDLERS) for _, blueprint in table})


def _check_declared(app: Flask, ours: set[str]) -> None:
    undeclared = [
        name for name, view in app.view_functions.items() if name.split(".")[0] in ours and find_endpoint(view) is None
    ]
    if undeclared:
        raise RuntimeError(f"routes without @endpoint: {', '.join(sorted(undeclared))}")
