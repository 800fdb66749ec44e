"""Settings of external services: Git hosts, login providers, AI, previews and payments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from marshmallow import fields

from app.core.limits import Limits
from app.core.urls import Network
from app.settings.fields import (
    DirectoryField,
    HostName,
    ListField,
    NetworksField,
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
WEBHOOK_SECRET = "Secret of the webhooks, or two comma-separated secrets during a rotation."  # noqa: S105
CREATION_LIMITS = {
    "organizations": number(
        "LIMIT_ORGANIZATIONS", "Largest number of organizations that a user owns.", Limits.organizations, 1
    ),
    "projects": number("LIMIT_PROJECTS", "Largest number of projects that a user owns.", Limits.projects, 1),
    "projects_per_organization": number(
        "LIMIT_PROJECTS_PER_ORGANIZATION",
        "Largest number of projects of an organization.",
        *(Limits.projects_per_organization, 1),
    ),
    "members": number("LIMIT_MEMBERS", "Largest number of members of an organization.", Limits.members, 1),
}
"""The fields of `Limits` that the operator can set."""


@dataclass(frozen=True)
class Git:
    """Local bare repositories, hosts from which they are cloned, and the author of commits."""

    local_enabled: Annotated[
        bool,
        fields.Boolean(
            load_default=None,
            metadata=describe(
                "GIT_LOCAL", "Enables bare repositories on this machine. Default: on; off in production."
            ),
        ),
    ]
    local_root: Annotated[
        Path,
        DirectoryField(
            PROJECT,
            load_default=None,
            metadata=describe(
                "GIT_LOCAL_ROOT", "Folder of the local repositories OWNER/NAME.git. Default: git in INSTANCE_DIR."
            ),
        ),
    ]
    clone_hosts: Annotated[
        tuple[str, ...],
        ListField(
            load_default=(),
            metadata=describe(
                "GIT_CLONE_HOSTS",
                "Hosts with private addresses, as HOST or HOST:PORT, from which the console may clone repositories, "
                "also over http. Public hosts need no entry.",
            ),
        ),
    ]
    bot_name: Annotated[str, line("GIT_BOT_NAME", "Name of the author and committer of commits.", "Galley")]
    bot_email: Annotated[
        str, line("GIT_BOT_EMAIL", "Address of that author. Default: galley@HOST, with the host of BASE_URL.")
    ]
    commit_author: Annotated[
        str,
        choice(
            "GIT_COMMIT_AUTHOR", "Author of commits. With person, the bot is the committer.", "bot", "bot", "person"
        ),
    ]
    http_processes: Annotated[
        int,
        number(
            "GIT_HTTP_PROCESSES",
            "Number of Git clones, fetches and pushes that a web worker serves at the same time. Further ones receive "
            "503 with Retry-After.",
            *(8, 1, 256),
        ),
    ]
    max_push_mb: Annotated[
        int, number("GIT_MAX_PUSH_MB", "Largest pack of a push to a local repository, in MiB.", 200, 1, 100_000)
    ]


class _WebhookSecrets:
    """A webhook secret, or two comma-separated secrets during a rotation."""

    webhook_secret: str | None

    @property
    def webhook_secrets(self) -> tuple[str, ...]:
        """Return all valid secrets. Without a secret, no signature is valid."""
        parts = (self.webhook_secret or "").split(",")
        return tuple(part.strip() for part in parts if part.strip())


@dataclass(frozen=True)
class GitHub(_WebhookSecrets):
    """Provider A and its app. `private_key` is PEM text."""

    url: Annotated[str, url("GITHUB_URL", "GitHub, for sign-in and installation.", "https://github.com")]
    api_url: Annotated[str, url("GITHUB_API_URL", "API of GitHub.", "https://api.github.com")]
    app_id: Annotated[str | None, text("GITHUB_APP_ID", "Id of the GitHub App.")]
    app_slug: Annotated[str | None, text("GITHUB_APP_SLUG", "Slug of the GitHub App.")]
    client_id: Annotated[str | None, text("GITHUB_APP_CLIENT_ID", "OAuth client id of the GitHub App.")]
    client_secret: Annotated[
        str | None, text("GITHUB_APP_CLIENT_SECRET", "OAuth client secret of the GitHub App.", secret=True)
    ] = field(repr=False)
    private_key: Annotated[
        str | None,
        Pem(
            PROJECT,
            load_default=None,
            metadata=describe(
                "GITHUB_APP_PRIVATE_KEY",
                "Private key of the GitHub App, as PEM text or the path of a PEM file.",
                secret=True,
            ),
        ),
    ] = field(repr=False)
    webhook_secret: Annotated[str | None, text("GITHUB_WEBHOOK_SECRET", WEBHOOK_SECRET, secret=True)] = field(
        repr=False
    )


@dataclass(frozen=True)
class GitLab(_WebhookSecrets):
    """Provider B. The path of its API starts at `url`."""

    url: Annotated[str, url("GITLAB_URL", "GitLab; its API is at /api/v4.", "https://gitlab.com")]
    client_id: Annotated[str | None, text("GITLAB_CLIENT_ID", "OAuth client id of the GitLab application.")]
    client_secret: Annotated[
        str | None, text("GITLAB_CLIENT_SECRET", "OAuth client secret of the application.", secret=True)
    ] = field(repr=False)
    webhook_secret: Annotated[str | None, text("GITLAB_WEBHOOK_SECRET", WEBHOOK_SECRET, secret=True)] = field(
        repr=False
    )


@dataclass(frozen=True)
class SocialA:
    """Login provider for accounts of a code host."""

    client_id: Annotated[
        str | None, text("SOCIAL_A_CLIENT_ID", "OAuth client id for sign-in with GitHub or a compatible host.")
    ]
    client_secret: Annotated[
        str | None, text("SOCIAL_A_CLIENT_SECRET", "OAuth client secret for that sign-in.", secret=True)
    ] = field(repr=False)
    url: Annotated[str, url("SOCIAL_A_URL", "Host of that sign-in.", "https://github.com")]
    api_url: Annotated[str, url("SOCIAL_A_API_URL", "API of that host.", "https://api.github.com")]


@dataclass(frozen=True)
class SocialB:
    """Login provider with OpenID Connect discovery at `issuer`."""

    client_id: Annotated[str | None, text("SOCIAL_B_CLIENT_ID", "OAuth client id for sign-in with OpenID Connect.")]
    client_secret: Annotated[
        str | None, text("SOCIAL_B_CLIENT_SECRET", "OAuth client secret for that sign-in.", secret=True)
    ] = field(repr=False)
    issuer: Annotated[str, url("SOCIAL_B_ISSUER", "Issuer of OpenID Connect.", "https://accounts.google.com")]


@dataclass(frozen=True)
class AiUpstream:
    """An AI provider with the key of the operator."""

    base_url: str
    api_key: str | None = field(repr=False)


@dataclass(frozen=True)
class Ai:
    """The default AI provider and model, and the base URLs of all providers. Other URLs are never called."""

    provider: Annotated[
        str | None,
        choice("AI_PROVIDER", "Default AI provider.", None, *("openai", "anthropic", "gemini", "xai"), *AI_ALIASES),
    ]
    model: Annotated[str | None, text("AI_MODEL", "Default model.")]
    openai: Annotated[
        AiUpstream,
        {
            "api_key": text("OPENAI_API_KEY", "Key of OpenAI or of a compatible server.", secret=True),
            "base_url": url("OPENAI_BASE_URL", "Base URL with its /v1.", "https://api.openai.com/v1"),
        },
    ]
    anthropic: Annotated[
        AiUpstream,
        {
            "api_key": text("ANTHROPIC_API_KEY", "Key of Anthropic.", secret=True),
            "base_url": url("ANTHROPIC_BASE_URL", "Base URL without /v1.", "https://api.anthropic.com"),
        },
    ]
    gemini: Annotated[
        AiUpstream,
        {
            "api_key": text("GEMINI_API_KEY", "Key of Gemini.", secret=True),
            "base_url": url(
                "GEMINI_BASE_URL",
                "Base URL of the OpenAI-compatible API.",
                "https://generativelanguage.googleapis.com/v1beta/openai",
            ),
        },
    ]
    xai: Annotated[
        AiUpstream,
        {
            "api_key": text("XAI_API_KEY", "Key of xAI.", secret=True),
            "base_url": url("XAI_BASE_URL", "Base URL with its /v1.", "https://api.x.ai/v1"),
        },
    ]


@dataclass(frozen=True)
class SandboxSettings:
    """Sandbox driver of previews. `api_url`, `api_key` and `domain` belong to the hosted service."""

    driver: Annotated[
        str,
        choice(
            "SANDBOX_DRIVER",
            "Sandboxes of previews: bubblewrap on this machine, a hosted microVM service, or none.",
            "local",
            *("local", "hosted", "none"),
        ),
    ]
    preview_host: Annotated[
        str,
        HostName(
            load_default="preview.localhost",
            metadata=describe(
                "PREVIEW_HOST",
                "Parent domain of preview hosts. In production it must be a different site than BASE_URL, WEB_URL "
                "and ALLOWED_ORIGINS.",
            ),
        ),
    ]
    egress: Annotated[
        tuple[str, ...],
        ListField(
            load_default=REGISTRIES,
            metadata=describe(
                "SANDBOX_EGRESS",
                "Hosts that a sandbox may reach while it installs packages, comma-separated. Default: the registries "
                "of npm, PyPI, RubyGems and Go. Add the hosts of dependencies that are installed from Git.",
            ),
        ),
    ]
    module_proxy: Annotated[
        str,
        url(
            "SANDBOX_MODULE_PROXY",
            "Go module proxy from which sandboxes download Hugo modules. SANDBOX_EGRESS must contain its host.",
            "https://proxy.golang.org",
        ),
    ]
    memory_mb: Annotated[
        int,
        number(
            "SANDBOX_MEMORY_MB",
            "Memory of a sandbox of this machine in MiB. The template of the hosted service decides that of a microVM.",
            2048,
            256,
            262_144,
        ),
    ]
    build_processes: Annotated[
        int,
        number("BUILD_PROCESSES", "Number of sites that a node builds at the same time. 0: it builds none.", 1, 0, 64),
    ]
    build_storage_mb: Annotated[
        int,
        number(
            "BUILD_STORAGE_MB",
            "Storage of the builds of an organization, in MiB. Equal files of a project count once.",
            5120,
            1,
        ),
    ]
    api_url: Annotated[str | None, url("SANDBOX_API_URL", "API of the hosted service.")]
    api_key: Annotated[str | None, text("SANDBOX_API_KEY", "Key of the hosted service.", secret=True)] = field(
        repr=False
    )
    domain: Annotated[str | None, text("SANDBOX_DOMAIN", "Parent domain of the previews of the hosted service.")]


@dataclass(frozen=True)
class Billing(_WebhookSecrets):
    """Payment provider. `plans` contains the raised creation limits of each plan."""

    driver: Annotated[str, choice("BILLING_DRIVER", "Payment provider.", "none", "none", "paddle")]
    api_key: Annotated[str | None, text("PADDLE_API_KEY", "Key of Paddle.", secret=True)] = field(repr=False)
    api_url: Annotated[str, url("PADDLE_API_URL", "API of Paddle.", "https://api.paddle.com")]
    webhook_secret: Annotated[str | None, text("PADDLE_WEBHOOK_SECRET", WEBHOOK_SECRET, secret=True)] = field(
        repr=False
    )
    client_token: Annotated[str | None, text("PADDLE_CLIENT_TOKEN", "Client-side token of Paddle.")]
    plans: Annotated[
        Mapping[str, Mapping[str, int]],
        PlanLimitsField(
            *CREATION_LIMITS,
            load_default=dict,
            metadata=describe(
                "PLAN_LIMITS",
                "Limits of paid plans in addition to LIMIT_*, for example Pro: projects=300, members=100; Team: "
                f"members=500. Plans are named as in the catalogue of Paddle. Names: {', '.join(CREATION_LIMITS)}.",
            ),
        ),
    ]


@dataclass(frozen=True)
class WebhookSettings:
    """Receivers of outbound webhooks."""

    allowed_networks: Annotated[
        tuple[Network, ...],
        NetworksField(
            load_default=(),
            metadata=describe(
                "WEBHOOK_ALLOWED_NETWORKS",
                "Private networks with receivers of webhooks, as a comma-separated list such as "
                "10.1.0.0/16,127.0.0.1/32. Receivers there may use http. Public receivers need no entry.",
            ),
        ),
    ]


@dataclass(frozen=True)
class Retention:
    """Retention of data in days; 0 is unlimited."""

    project_log_days: Annotated[
        int,
        number(
            "PROJECT_LOG_DAYS",
            "Days after which entries of the project log are deleted; 0 keeps them as long as their project.",
            *(0, 0, 36_500),
        ),
    ]
