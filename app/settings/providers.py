"""Variables of external services: Git hosts, login providers, AI, previews and payments."""

from marshmallow import Schema, fields

from app.core.limits import Limits
from app.settings.fields import (
    DirectoryField,
    HostName,
    ListField,
    Pem,
    PlanLimitsField,
    choice,
    describe,
    line,
    number,
    text,
    url,
)
from app.settings.groups import PROJECT

AI_ALIASES = {"google": "gemini", "grok": "xai"}
"""Accepted names of AI providers and the names that the code uses."""

REGISTRIES = (
    *("registry.npmjs.org", "registry.yarnpkg.com", "pypi.org", "files.pythonhosted.org"),
    *("rubygems.org", "index.rubygems.org", "proxy.golang.org", "sum.golang.org"),
)
CREATION_LIMITS = ("organizations", "projects", "projects_per_organization", "members")
WEBHOOK_SECRET = "Secret of the webhooks, or two comma-separated secrets during a rotation."  # noqa: S105


class ProviderVariables(Schema):
    """Variables of external services and of the limits of plans."""

    GIT_LOCAL = fields.Boolean(
        attribute="git.local_enabled",
        load_default=None,
        metadata=describe("Enables bare repositories on this machine. Default: on; off in production."),
    )
    GIT_LOCAL_ROOT = DirectoryField(
        PROJECT,
        attribute="git.local_root",
        load_default=None,
        metadata=describe("Folder of the local repositories OWNER/NAME.git. Default: git in INSTANCE_DIR."),
    )
    GIT_CLONE_HOSTS = ListField(
        attribute="git.clone_hosts",
        load_default=(),
        metadata=describe(
            "Hosts with private addresses, as HOST or HOST:PORT, from which the console may clone repositories, also over "
            "http. Public hosts need no entry."
        ),
    )
    GIT_BOT_NAME = line("git.bot_name", "Name of the author and committer of commits.", "Galley")
    GIT_BOT_EMAIL = line("git.bot_email", "Address of that author. Default: galley@HOST, with the host of BASE_URL.")
    GIT_COMMIT_AUTHOR = choice(
        "git.commit_author", "Author of commits. With person, the bot is the committer.", "bot", "bot", "person"
    )
    GITHUB_URL = url("github.url", "GitHub, for sign-in and installation.", "https://github.com")
    GITHUB_API_URL = url("github.api_url", "API of GitHub.", "https://api.github.com")
    GITHUB_APP_ID = text("github.app_id", "Id of the GitHub App.")
    GITHUB_APP_SLUG = text("github.app_slug", "Slug of the GitHub App.")
    GITHUB_APP_CLIENT_ID = text("github.client_id", "OAuth client id of the GitHub App.")
    GITHUB_APP_CLIENT_SECRET = text("github.client_secret", "OAuth client secret of the GitHub App.", secret=True)
    GITHUB_APP_PRIVATE_KEY = Pem(
        PROJECT,
        attribute="github.private_key",
        load_default=None,
        metadata=describe("Private key of the GitHub App, as PEM text or the path of a PEM file.", secret=True),
    )
    GITHUB_WEBHOOK_SECRET = text("github.webhook_secret", WEBHOOK_SECRET, secret=True)
    GITLAB_URL = url("gitlab.url", "GitLab; its API is at /api/v4.", "https://gitlab.com")
    GITLAB_CLIENT_ID = text("gitlab.client_id", "OAuth client id of the GitLab application.")
    GITLAB_CLIENT_SECRET = text("gitlab.client_secret", "OAuth client secret of the application.", secret=True)
    GITLAB_WEBHOOK_SECRET = text("gitlab.webhook_secret", WEBHOOK_SECRET, secret=True)
    SOCIAL_A_CLIENT_ID = text("social_a.client_id", "OAuth client id for sign-in with GitHub or a compatible host.")
    SOCIAL_A_CLIENT_SECRET = text("social_a.client_secret", "OAuth client secret for that sign-in.", secret=True)
    SOCIAL_A_URL = url("social_a.url", "Host of that sign-in.", "https://github.com")
    SOCIAL_A_API_URL = url("social_a.api_url", "API of that host.", "https://api.github.com")
    SOCIAL_B_CLIENT_ID = text("social_b.client_id", "OAuth client id for sign-in with OpenID Connect.")
    SOCIAL_B_CLIENT_SECRET = text("social_b.client_secret", "OAuth client secret for that sign-in.", secret=True)
    SOCIAL_B_ISSUER = url("social_b.issuer", "Issuer of OpenID Connect.", "https://accounts.google.com")
    AI_PROVIDER = choice(
        "ai.provider", "Default AI provider.", None, *("openai", "anthropic", "gemini", "xai"), *AI_ALIASES
    )
    AI_MODEL = text("ai.model", "Default model.")
    OPENAI_API_KEY = text("ai.openai.api_key", "Key of OpenAI or of a compatible server.", secret=True)
    OPENAI_BASE_URL = url("ai.openai.base_url", "Base URL with its /v1.", "https://api.openai.com/v1")
    ANTHROPIC_API_KEY = text("ai.anthropic.api_key", "Key of Anthropic.", secret=True)
    ANTHROPIC_BASE_URL = url("ai.anthropic.base_url", "Base URL without /v1.", "https://api.anthropic.com")
    GEMINI_API_KEY = text("ai.gemini.api_key", "Key of Gemini.", secret=True)
    GEMINI_BASE_URL = url(
        "ai.gemini.base_url",
        "Base URL of the OpenAI-compatible API.",
        "https://generativelanguage.googleapis.com/v1beta/openai",
    )
    XAI_API_KEY = text("ai.xai.api_key", "Key of xAI.", secret=True)
    XAI_BASE_URL = url("ai.xai.base_url", "Base URL with its /v1.", "https://api.x.ai/v1")
    SANDBOX_DRIVER = choice(
        "sandbox.driver",
        "Sandboxes of previews: bubblewrap on this machine, a hosted microVM service, or none.",
        "local",
        *("local", "hosted", "none"),
    )
    PREVIEW_HOST = HostName(
        attribute="sandbox.preview_host",
        load_default="preview.localhost",
        metadata=describe(
            "Parent domain of preview hosts. In production it must be a different site than BASE_URL, WEB_URL and ALLOWED_ORIGINS."
        ),
    )
    SANDBOX_EGRESS = ListField(
        attribute="sandbox.egress",
        load_default=REGISTRIES,
        metadata=describe(
            "Hosts that a sandbox may reach while it installs packages, comma-separated. Default: the registries of npm, "
            "PyPI, RubyGems and Go. Add the hosts of dependencies that are installed from Git."
        ),
    )
    SANDBOX_MODULE_PROXY = url(
        "sandbox.module_proxy",
        "Go module proxy from which sandboxes download Hugo modules. SANDBOX_EGRESS must contain its host.",
        "https://proxy.golang.org",
    )
    SANDBOX_API_URL = url("sandbox.api_url", "API of the hosted service.")
    SANDBOX_API_KEY = text("sandbox.api_key", "Key of the hosted service.", secret=True)
    SANDBOX_DOMAIN = text("sandbox.domain", "Parent domain of the previews of the hosted service.")
    BILLING_DRIVER = choice("billing.driver", "Payment provider.", "none", "none", "paddle")
    PADDLE_API_KEY = text("billing.api_key", "Key of Paddle.", secret=True)
    PADDLE_API_URL = url("billing.api_url", "API of Paddle.", "https://api.paddle.com")
    PADDLE_WEBHOOK_SECRET = text("billing.webhook_secret", WEBHOOK_SECRET, secret=True)
    PADDLE_CLIENT_TOKEN = text("billing.client_token", "Client-side token of Paddle.")
    PLAN_LIMITS = PlanLimitsField(
        *CREATION_LIMITS,
        attribute="billing.plans",
        load_default=dict,
        metadata=describe(
            "Limits of paid plans in addition to LIMIT_*, for example Pro: projects=300, members=100; Team: members=500. "
            "Plans are named as in the catalogue of Paddle. Names: organizations, projects, projects_per_organization, "
            "members."
        ),
    )
    LIMIT_ORGANIZATIONS = number(
        "limits.organizations", "Largest number of organizations that a user owns.", Limits.organizations, 1
    )
    LIMIT_PROJECTS = number("limits.projects", "Largest number of projects that a user owns.", Limits.projects, 1)
    LIMIT_PROJECTS_PER_ORGANIZATION = number(
        "limits.projects_per_organization",
        "Largest number of projects of an organization.",
        *(Limits.projects_per_organization, 1),
    )
    LIMIT_MEMBERS = number("limits.members", "Largest number of members of an organization.", Limits.members, 1)
    PROJECT_LOG_DAYS = number(
        "retention.project_log_days",
        "Days after which entries of the project log are deleted; 0 keeps them as long as their project.",
        *(0, 0, 36_500),
    )
