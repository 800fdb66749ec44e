"""Setting groups as frozen dataclasses; `config.Settings` contains one of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class ServerSettings:
    """Addresses, URLs and processes of the server."""

    host: str
    port: int
    base_url: str
    web_url: str
    allowed_origins: tuple[str, ...]
    web_concurrency: int
    trusted_hops: int
    instance_dir: Path
    rate_limit_scale: float
    sign_up: str

    @property
    def invitation_url(self) -> str:
        """The page to which invitations lead: that of the console, unless another web application is configured."""
        return f"{self.web_url}/console/invitation" if self.web_url == self.base_url else self.web_url


@dataclass(frozen=True)
class Security:
    """Keys for signatures and encryption. The first encryption key `(key id, 32 bytes)` encrypts."""

    secret_key: str = field(repr=False)
    encryption_keys: tuple[tuple[str, bytes], ...] = field(repr=False)


@dataclass(frozen=True)
class DatabaseSettings:
    """A SQLAlchemy URL of SQLite or of PostgreSQL with psycopg.

    A process opens at most `pool` PostgreSQL connections for writing and as many for reading.
    """

    url: str = field(repr=False)
    pool: int


@dataclass(frozen=True)
class StorageSettings:
    """Storage of uploads."""

    driver: str
    directory: Path
    s3_bucket: str | None
    s3_endpoint_url: str | None
    s3_region: str | None
    s3_public_url: str | None


@dataclass(frozen=True)
class MailSettings:
    """Transport and sender of mail."""

    driver: str
    directory: Path
    smtp_url: str | None = field(repr=False)
    sender: str


@dataclass(frozen=True)
class Git:
    """Local bare repositories, hosts from which they are cloned, and the author of commits."""

    local_enabled: bool
    local_root: Path
    clone_hosts: tuple[str, ...]
    bot_name: str
    bot_email: str
    commit_author: str


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

    url: str
    api_url: str
    app_id: str | None
    app_slug: str | None
    client_id: str | None
    client_secret: str | None = field(repr=False)
    private_key: str | None = field(repr=False)
    webhook_secret: str | None = field(repr=False)


@dataclass(frozen=True)
class GitLab(_WebhookSecrets):
    """Provider B. The path of its API starts at `url`."""

    url: str
    client_id: str | None
    client_secret: str | None = field(repr=False)
    webhook_secret: str | None = field(repr=False)


@dataclass(frozen=True)
class SocialA:
    """Login provider for accounts of a code host."""

    client_id: str | None
    client_secret: str | None = field(repr=False)
    url: str
    api_url: str


@dataclass(frozen=True)
class SocialB:
    """Login provider with OpenID Connect discovery at `issuer`."""

    client_id: str | None
    client_secret: str | None = field(repr=False)
    issuer: str


@dataclass(frozen=True)
class AiUpstream:
    """An AI provider with the key of the operator."""

    base_url: str
    api_key: str | None = field(repr=False)


@dataclass(frozen=True)
class Ai:
    """The default AI provider and model, and the base URLs of all providers. Other URLs are never called."""

    provider: str | None
    model: str | None
    openai: AiUpstream
    anthropic: AiUpstream
    gemini: AiUpstream
    xai: AiUpstream


@dataclass(frozen=True)
class SandboxSettings:
    """Sandbox driver of previews. `api_url`, `api_key` and `domain` belong to the hosted service."""

    driver: str
    preview_host: str
    egress: tuple[str, ...]
    module_proxy: str
    api_url: str | None
    api_key: str | None = field(repr=False)
    domain: str | None


@dataclass(frozen=True)
class Billing(_WebhookSecrets):
    """Payment provider. `plans` contains the raised creation limits of each plan."""

    driver: str
    api_url: str
    api_key: str | None = field(repr=False)
    webhook_secret: str | None = field(repr=False)
    client_token: str | None
    plans: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Log:
    """Format and level of the log."""

    format: str
    level: str


@dataclass(frozen=True)
class Retention:
    """Retention of data in days; 0 is unlimited."""

    project_log_days: int
