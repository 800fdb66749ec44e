"""The groups of the configuration, each a frozen shape; `config.Settings` holds one of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Server:
    """Where the service listens and how it is reached."""

    host: str
    port: int
    base_url: str
    web_url: str
    allowed_origins: tuple[str, ...]
    web_concurrency: int
    trusted_hops: int
    instance_dir: Path
    rate_limit_scale: float


@dataclass(frozen=True)
class Security:
    """What signs and what encrypts; the first encryption key `(key id, 32 bytes)` is the one that encrypts."""

    secret_key: str = field(repr=False)
    encryption_keys: tuple[tuple[str, bytes], ...] = field(repr=False)


@dataclass(frozen=True)
class Database:
    """A SQLAlchemy URL of SQLite or of PostgreSQL with psycopg.

    Of PostgreSQL a process takes at most `pool` connections for writing and as many for reading.
    """

    url: str = field(repr=False)
    pool: int


@dataclass(frozen=True)
class Storage:
    """Where uploads are kept."""

    driver: str
    directory: Path
    s3_bucket: str | None
    s3_endpoint_url: str | None
    s3_region: str | None
    s3_public_url: str | None


@dataclass(frozen=True)
class MailSettings:
    """How mail leaves."""

    driver: str
    directory: Path
    smtp_url: str | None = field(repr=False)
    sender: str


@dataclass(frozen=True)
class Git:
    """Local bare repositories, and whose name stands on commits."""

    local_enabled: bool
    local_root: Path
    bot_name: str
    bot_email: str


class _SignsWebhooks:
    """Whoever signs webhooks may have two live secrets, comma-separated, while one replaces the other."""

    webhook_secret: str | None

    @property
    def webhook_secrets(self) -> tuple[str, ...]:
        """Every live secret; empty when none is configured, and then no signature is right."""
        parts = (self.webhook_secret or "").split(",")
        return tuple(part.strip() for part in parts if part.strip())


@dataclass(frozen=True)
class GitHub(_SignsWebhooks):
    """Provider A and its app; `private_key` is PEM text."""

    url: str
    api_url: str
    app_id: str | None
    app_slug: str | None
    client_id: str | None
    client_secret: str | None = field(repr=False)
    private_key: str | None = field(repr=False)
    webhook_secret: str | None = field(repr=False)


@dataclass(frozen=True)
class GitLab(_SignsWebhooks):
    """Provider B; its API is below `url`."""

    url: str
    client_id: str | None
    client_secret: str | None = field(repr=False)
    webhook_secret: str | None = field(repr=False)


@dataclass(frozen=True)
class SocialA:
    """The code-hosting login provider."""

    client_id: str | None
    client_secret: str | None = field(repr=False)
    url: str
    api_url: str


@dataclass(frozen=True)
class SocialB:
    """The general-purpose login provider, found by OIDC discovery below `issuer`."""

    client_id: str | None
    client_secret: str | None = field(repr=False)
    issuer: str


@dataclass(frozen=True)
class AiUpstream:
    """One model provider; the key is the operator's own."""

    base_url: str
    api_key: str | None = field(repr=False)


@dataclass(frozen=True)
class Ai:
    """The operator's default provider and model, and the only base URLs a model is ever called at."""

    provider: str | None
    model: str | None
    openai: AiUpstream
    anthropic: AiUpstream
    gemini: AiUpstream
    xai: AiUpstream


@dataclass(frozen=True)
class SandboxSettings:
    """Who runs previews; the `api_` values and `domain` are the hosted service's."""

    driver: str
    preview_host: str
    egress: tuple[str, ...]
    api_url: str | None
    api_key: str | None = field(repr=False)
    domain: str | None


@dataclass(frozen=True)
class Billing(_SignsWebhooks):
    """Who takes payments; `plans` tells which creation limits each plan raises, and to what."""

    driver: str
    api_url: str
    api_key: str | None = field(repr=False)
    webhook_secret: str | None = field(repr=False)
    client_token: str | None
    plans: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Log:
    """What log lines look like and which are written."""

    format: str
    level: str


@dataclass(frozen=True)
class Retention:
    """How many days is kept what would otherwise only grow; 0 is for good."""

    project_log_days: int
