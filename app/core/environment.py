"""The one schema that reads the environment: every variable, its default, and what contradicts what.

Loads to the arguments of `config.Settings`; a field's `attribute` is the dotted place of its value there.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validates_schema
from marshmallow.validate import Range

from app.core.environment_completion import AI_ALIASES, completed
from app.core.environment_fields import (
    Database,
    HostName,
    Keys,
    Names,
    Origins,
    Pem,
    Place,
    Plans,
    Sender,
    line,
    text,
    url,
    word,
)
from app.core.limits import Limits
from app.core.settings import PROJECT

PLACEHOLDERS = ("secret", "changeme", "change-me", "default", "insecure", "placeholder", "example", "your-")
SECRET_MIN_CHARACTERS = 32
REGISTRIES = (
    *("registry.npmjs.org", "registry.yarnpkg.com", "pypi.org", "files.pythonhosted.org"),
    *("rubygems.org", "index.rubygems.org", "proxy.golang.org", "sum.golang.org"),
)
NEEDED = {
    ("STORAGE_DRIVER", "s3"): ("S3_BUCKET",),
    ("MAIL_DRIVER", "smtp"): ("SMTP_URL",),
    ("SANDBOX_DRIVER", "hosted"): ("SANDBOX_API_URL", "SANDBOX_API_KEY"),
    ("BILLING_DRIVER", "paddle"): ("PADDLE_API_KEY", "PADDLE_WEBHOOK_SECRET"),
}
CREATION_LIMITS = ("organizations", "projects", "projects_per_organization", "members")


def _number(place: str, default: int, low: int, high: int | None = None) -> fields.Integer:
    return fields.Integer(attribute=place, load_default=default, validate=Range(low, high))


class Environment(Schema):
    """Every variable the service reads."""

    class Meta:
        """The process's other variables are none of our business."""

        unknown = EXCLUDE

    APP_ENV = word("env", "development", "development", "test", "production")
    HOST = text("server.host", "127.0.0.1")
    PORT = _number("server.port", 8000, 1, 65_535)
    BASE_URL = url("server.base_url")
    WEB_URL = url("server.web_url")
    ALLOWED_ORIGINS = Origins(attribute="server.allowed_origins", load_default=())
    INSTANCE_DIR = Place(PROJECT, attribute="server.instance_dir", load_default=PROJECT / "instance")
    WEB_CONCURRENCY = _number("server.web_concurrency", 2, 1, 64)
    TRUSTED_HOPS = _number("server.trusted_hops", 0, 0, 10)
    RATE_LIMIT_SCALE = fields.Float(
        attribute="server.rate_limit_scale", load_default=1.0, validate=Range(0, min_inclusive=False)
    )
    SECRET_KEY = text("security.secret_key")
    ENCRYPTION_KEYS = Keys(attribute="security.encryption_keys", load_default=None)
    DATABASE_URL = Database(PROJECT, attribute="database.url", load_default=None)
    DATABASE_POOL = _number("database.pool", 20, 2, 200)
    REDIS_URL = url("redis_url", None, "redis", "rediss", "unix")
    STORAGE_DRIVER = word("storage.driver", "local", "local", "s3")
    STORAGE_DIR = Place(PROJECT, attribute="storage.directory", load_default=None)
    S3_BUCKET = text("storage.s3_bucket")
    S3_ENDPOINT_URL = url("storage.s3_endpoint_url")
    S3_REGION = text("storage.s3_region")
    S3_PUBLIC_URL = url("storage.s3_public_url")
    MAIL_DRIVER = word("mail.driver", "console", "console", "file", "smtp")
    MAIL_DIR = Place(PROJECT, attribute="mail.directory", load_default=None)
    SMTP_URL = url("mail.smtp_url", None, "smtp", "smtps")
    MAIL_FROM = Sender(attribute="mail.sender", load_default=None)
    GIT_LOCAL = fields.Boolean(attribute="git.local_enabled", load_default=None)
    GIT_LOCAL_ROOT = Place(PROJECT, attribute="git.local_root", load_default=None)
    GIT_BOT_NAME = line("git.bot_name", "Galley")
    GIT_BOT_EMAIL = line("git.bot_email")
    GITHUB_URL = url("github.url", "https://github.com")
    GITHUB_API_URL = url("github.api_url", "https://api.github.com")
    GITHUB_APP_ID = text("github.app_id")
    GITHUB_APP_SLUG = text("github.app_slug")
    GITHUB_APP_CLIENT_ID = text("github.client_id")
    GITHUB_APP_CLIENT_SECRET = text("github.client_secret")
    GITHUB_APP_PRIVATE_KEY = Pem(PROJECT, attribute="github.private_key", load_default=None)
    GITHUB_WEBHOOK_SECRET = text("github.webhook_secret")
    GITLAB_URL = url("gitlab.url", "https://gitlab.com")
    GITLAB_CLIENT_ID = text("gitlab.client_id")
    GITLAB_CLIENT_SECRET = text("gitlab.client_secret")
    GITLAB_WEBHOOK_SECRET = text("gitlab.webhook_secret")
    SOCIAL_A_CLIENT_ID = text("social_a.client_id")
    SOCIAL_A_CLIENT_SECRET = text("social_a.client_secret")
    SOCIAL_A_URL = url("social_a.url", "https://github.com")
    SOCIAL_A_API_URL = url("social_a.api_url", "https://api.github.com")
    SOCIAL_B_CLIENT_ID = text("social_b.client_id")
    SOCIAL_B_CLIENT_SECRET = text("social_b.client_secret")
    SOCIAL_B_ISSUER = url("social_b.issuer", "https://accounts.google.com")
    AI_PROVIDER = word("ai.provider", None, "openai", "anthropic", "gemini", "xai", *AI_ALIASES)
    AI_MODEL = text("ai.model")
    OPENAI_API_KEY = text("ai.openai.api_key")
    OPENAI_BASE_URL = url("ai.openai.base_url", "https://api.openai.com/v1")
    ANTHROPIC_API_KEY = text("ai.anthropic.api_key")
    ANTHROPIC_BASE_URL = url("ai.anthropic.base_url", "https://api.anthropic.com")
    GEMINI_API_KEY = text("ai.gemini.api_key")
    GEMINI_BASE_URL = url("ai.gemini.base_url", "https://generativelanguage.googleapis.com/v1beta/openai")
    XAI_API_KEY = text("ai.xai.api_key")
    XAI_BASE_URL = url("ai.xai.base_url", "https://api.x.ai/v1")
    SANDBOX_DRIVER = word("sandbox.driver", "local", "local", "hosted", "none")
    PREVIEW_HOST = HostName(attribute="sandbox.preview_host", load_default="preview.localhost")
    SANDBOX_EGRESS = Names(attribute="sandbox.egress", load_default=REGISTRIES)
    SANDBOX_API_URL = url("sandbox.api_url")
    SANDBOX_API_KEY = text("sandbox.api_key")
    SANDBOX_DOMAIN = text("sandbox.domain")
    BILLING_DRIVER = word("billing.driver", "none", "none", "paddle")
    PADDLE_API_KEY = text("billing.api_key")
    PADDLE_API_URL = url("billing.api_url", "https://api.paddle.com")
    PADDLE_WEBHOOK_SECRET = text("billing.webhook_secret")
    PADDLE_CLIENT_TOKEN = text("billing.client_token")
    PLAN_LIMITS = Plans(*CREATION_LIMITS, attribute="billing.plans", load_default=dict)
    LIMIT_ORGANIZATIONS = _number("limits.organizations", Limits.organizations, 1)
    LIMIT_PROJECTS = _number("limits.projects", Limits.projects, 1)
    LIMIT_PROJECTS_PER_ORGANIZATION = _number("limits.projects_per_organization", Limits.projects_per_organization, 1)
    LIMIT_MEMBERS = _number("limits.members", Limits.members, 1)
    PROJECT_LOG_DAYS = _number("retention.project_log_days", 0, 0, 36_500)
    LOG_FORMAT = word("log.format", "console", "console", "json")
    LOG_LEVEL = word("log.level", "INFO", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
    METRICS_TOKEN = text("metrics_token")

    def at(self, data: Mapping[str, Any], variable: str) -> Any:
        """What `variable` was read as; None where it is at fault or not set."""
        found: Any = data
        for step in str(self.fields[variable].attribute).split("."):
            found = (found or {}).get(step)
        return found

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def refuse_contradictions(self, data: Mapping[str, Any], original: Mapping[str, str], **_: object) -> None:
        """Name every fault that no single variable shows."""
        faults = {name: "Is not a setting." for name in original if name.startswith("APP_") and name not in self.fields}
        for (variable, driver), needed in NEEDED.items():
            if self.at(data, variable) == driver:
                faults |= {name: f"Is needed with {variable}={driver}." for name in needed if name not in original}
        if self.at(data, "APP_ENV") == "production":
            faults |= dict(self._production_faults(data, original))
        if faults:
            raise ValidationError({name: [fault] for name, fault in faults.items()})

    def _production_faults(self, data: Mapping[str, Any], original: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        secret = original.get("SECRET_KEY", "")
        if len(secret) < SECRET_MIN_CHARACTERS or any(word in secret.lower() for word in PLACEHOLDERS):
            yield "SECRET_KEY", f"Production needs a random one of at least {SECRET_MIN_CHARACTERS} characters."
        if "ENCRYPTION_KEYS" not in original:
            yield "ENCRYPTION_KEYS", "Production needs one given: kid:base64 of 32 random bytes."
        elif any(len(set(key)) == 1 for _, key in self.at(data, "ENCRYPTION_KEYS") or ()):
            yield "ENCRYPTION_KEYS", "Production needs random keys, not one byte repeated."
        if self.at(data, "MAIL_DRIVER") == "console":
            yield "MAIL_DRIVER", "Production needs smtp or file: console mail reaches nobody."
        if self.at(data, "RATE_LIMIT_SCALE") not in (None, 1):
            yield "RATE_LIMIT_SCALE", "Must be 1 in production."

    @post_load
    def complete(self, data: dict[str, Any], **_: object) -> dict[str, Any]:
        """Fill in what follows from other values, and make the groups."""
        return completed(data)
