"""What an operator may set, as typed frozen settings read once from the environment.

Holds the shapes; `app.core.environment` has the schema with every variable, its default and what contradicts what.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from dotenv import load_dotenv
from marshmallow import ValidationError

if TYPE_CHECKING:
    from app.core.limits import Limits

PROJECT = Path(__file__).resolve().parent


class ConfigError(Exception):
    """The environment makes no settings; the message names every fault, one a line."""


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


@dataclass(frozen=True)
class Settings:
    """Everything the service was told, and the numbers it goes by."""

    env: Literal["development", "test", "production"]
    server: Server
    security: Security
    database: Database
    redis_url: str | None = field(repr=False)
    storage: Storage
    mail: MailSettings
    git: Git
    github: GitHub
    gitlab: GitLab
    social_a: SocialA
    social_b: SocialB
    ai: Ai
    sandbox: SandboxSettings
    billing: Billing
    log: Log
    retention: Retention
    metrics_token: str | None = field(repr=False)
    limits: "Limits"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Read the variables of `environ`; without one, those of the process with `.env` filling what is not set.

        Raises:
            ConfigError: one or more variables are wrong; the message names each.
        """
        # Here, not above: importing anything of `app` runs its composition root, which imports this module.
        from app.core.environment import Environment

        if environ is None:
            load_dotenv(PROJECT / ".env")
            environ = os.environ
        given = {name: value for name, value in environ.items() if value.strip()}
        try:
            return cls(**Environment().load(given))
        except ValidationError as error:
            raise ConfigError(_told(error.messages_dict)) from error

    @classmethod
    def for_tests(cls, instance_dir: Path, **environment: object) -> "Settings":
        """Settings of `APP_ENV=test` in a folder of their own; reads neither the process's environment nor `.env`."""
        given = {"APP_ENV": "test", "INSTANCE_DIR": str(instance_dir)}
        return cls.from_environment(given | {name: str(value) for name, value in environment.items()})

    @property
    def is_production(self) -> bool:
        """Whether stand-ins and made-up secrets are refused."""
        return self.env == "production"

    def masked(self) -> dict[str, str]:
        """Every setting by its dotted name, secrets masked: what `flask config check` prints."""
        return dict(_shown("", self))


def _shown(prefix: str, group: Any) -> Iterator[tuple[str, str]]:
    """The values below a group; what its `repr` hides is masked, of a URL only what may be secret."""
    for known in fields(group):
        name, value = prefix + known.name, getattr(group, known.name)
        if is_dataclass(value):
            yield from _shown(f"{name}.", value)
        elif value is None:
            yield name, "(not set)"
        elif known.repr:
            yield name, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        else:
            yield name, _masked_url(value) if known.name.endswith("url") else "********"


def _masked_url(url: str) -> str:
    parts = urlsplit(url)
    account, _, place = parts.netloc.rpartition("@")
    login = f"{account.partition(':')[0]}:********@" if account else ""
    return f"{parts.scheme}://{login}{place}{parts.path}{'?********' if parts.query else ''}"


def _told(faults: Mapping[str, Any]) -> str:
    lines = [f"  {name}: {' '.join(map(str, messages))}" for name, messages in sorted(faults.items())]
    return "\n".join([f"Galley cannot start; {len(lines)} of its settings must be changed:", *lines])
