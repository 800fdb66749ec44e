"""All setting groups, and the schema of their variables: rules and defaults that concern more than one of them."""

import base64
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from marshmallow import ValidationError, fields, post_load, validates_schema

from app.core.limits import Limits
from app.core.urls import is_ip_address, origin_of
from app.security.private_files import make_private_folder, read_or_create
from app.settings.fields import KEY_BYTES, EncryptionKeysField, url
from app.settings.groups import ReferenceSection, build_members, declarations_of, schema_of
from app.settings.production import production_errors
from app.settings.providers import (
    AI_ALIASES,
    CREATION_LIMITS,
    Ai,
    Billing,
    Git,
    GitHub,
    GitLab,
    Retention,
    SandboxSettings,
    SocialA,
    SocialB,
    WebhookSettings,
)
from app.settings.server import EnvironmentSchema, ProcessSettings
from app.settings.stores import DatabaseSettings, MailSettings, Security, StorageSettings

REQUIRED_TOGETHER = {
    ("STORAGE_DRIVER", "s3"): ("S3_BUCKET",),
    ("MAIL_DRIVER", "smtp"): ("SMTP_URL",),
    ("SANDBOX_DRIVER", "hosted"): ("SANDBOX_API_URL", "SANDBOX_API_KEY"),
    ("BILLING_DRIVER", "paddle"): ("PADDLE_API_KEY", "PADDLE_WEBHOOK_SECRET"),
}


def complete(data: dict[str, Any]) -> None:
    """Add the missing values to the loaded data of all groups.

    Raises:
        ValidationError: the instance folder cannot be used.
    """
    server, mail = data["server"], data["mail"]
    folder, production = server["instance_dir"], data["env"] == "production"
    _fill(server, base_url=_own_url(server["host"], server["port"]))
    _fill(server, web_url=server["base_url"], passkey_rp_id=urlsplit(server["base_url"]).hostname)
    origins = server["allowed_origins"] or (server["base_url"], server["web_url"])
    server["allowed_origins"] = tuple(dict.fromkeys(filter(None, map(origin_of, origins))))
    _fill(data["storage"], directory=folder / "storage")
    _fill(mail, directory=folder / "mail", sender=f"Galley <no-reply@{_mail_domain(server['base_url'])}>")
    bot_email = f"galley@{_mail_domain(server['base_url'])}"
    _fill(data["git"], local_enabled=not production, local_root=folder / "git", bot_email=bot_email)
    with _instance_errors():
        if data["database"]["url"] is None:
            make_private_folder(folder)
        _fill_secrets(data["security"], folder)
    _fill(data["database"], url=f"sqlite:///{folder / 'app.db'}")
    data["ai"]["provider"] = AI_ALIASES.get(data["ai"]["provider"], data["ai"]["provider"])


def _fill(group: dict[str, object], **defaults: object) -> None:
    group.update({name: value for name, value in defaults.items() if group[name] is None})


def _own_url(host: str, port: int) -> str:
    """Return the URL of the service for a browser on this machine."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{reachable}:{port}"


def _mail_domain(base_url: str) -> str:
    """Return the host of the service as an e-mail domain. An address or a name without a dot is replaced."""
    host = urlsplit(base_url).hostname or ""
    return host if "." in host and not is_ip_address(host) else "galley.localhost"


def _fill_secrets(security: dict[str, object], folder: Path) -> None:
    """Read secrets that are not set from the instance folder. Create them at the first start."""
    if security["secret_key"] is None:
        security["secret_key"] = read_or_create(folder / "secret_key", lambda: secrets.token_urlsafe(48))
    if security["encryption_keys"] is None:
        security["encryption_keys"] = EncryptionKeysField().deserialize(
            read_or_create(folder / "encryption_keys", _new_keys)
        )


def _new_keys() -> str:
    return f"k1:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}"


@contextmanager
def _instance_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ValidationError({"INSTANCE_DIR": [f"Cannot be used: {error.strerror}: {error.filename}."]}) from error


@dataclass(frozen=True)
class SettingGroups(ProcessSettings):
    """All setting groups in the order of the documentation."""

    security: Annotated[Security, ReferenceSection("Secrets")]
    database: Annotated[DatabaseSettings, ReferenceSection("Database and Redis")]
    redis_url: Annotated[
        str | None,
        url(
            "REDIS_URL",
            "Redis that shares rate limits, locks and job wake-ups between nodes, as redis://HOST:6379/0.",
            None,
            *("redis", "rediss", "unix"),
        ),
        ReferenceSection("Database and Redis"),
    ] = field(repr=False)
    storage: Annotated[StorageSettings, ReferenceSection("Object storage")]
    mail: Annotated[MailSettings, ReferenceSection("Mail")]
    git: Annotated[Git, ReferenceSection("Commits and local repositories")]
    github: Annotated[GitHub, ReferenceSection("GitHub")]
    gitlab: Annotated[GitLab, ReferenceSection("GitLab")]
    social_a: Annotated[SocialA, ReferenceSection("Social sign-in")]
    social_b: Annotated[SocialB, ReferenceSection("Social sign-in")]
    ai: Annotated[Ai, ReferenceSection("AI")]
    sandbox: Annotated[SandboxSettings, ReferenceSection("Previews")]
    billing: Annotated[Billing, ReferenceSection("Payments")]
    webhooks: Annotated[WebhookSettings, ReferenceSection("Webhooks")]
    limits: Annotated[Limits, CREATION_LIMITS, ReferenceSection("Limits")]
    retention: Annotated[Retention, ReferenceSection("Limits")]


class EnvironmentRules(EnvironmentSchema):
    """The rules that concern more than one variable, and the values that follow from other values."""

    def value(self, data: Mapping[str, object], variable: str) -> object:
        """Return the loaded value of a variable, or None if it is invalid or not set."""
        value: object = data
        for name in str(self.fields[variable].attribute).split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def check_conflicts(self, data: Mapping[str, object], original: Mapping[str, str], **_: object) -> None:
        """Report every error that concerns more than one variable."""
        errors = dict(self._conflicts(data, original))
        if self.value(data, "APP_ENV") == "production":
            values = {name: self.value(data, name) for name in self.fields}
            errors |= dict(production_errors(values, original))
        if errors:
            raise ValidationError({name: [message] for name, message in errors.items()})

    def _conflicts(self, data: Mapping[str, object], original: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name in original:
            if name.startswith("APP_") and name not in self.fields:
                yield name, "Is not a setting."
        for (variable, driver), required in REQUIRED_TOGETHER.items():
            if self.value(data, variable) == driver:
                missing = [name for name in required if name not in original]
                yield from ((name, f"Is required with {variable}={driver}.") for name in missing)

    @post_load
    def build(self, data: dict[str, object], **_: object) -> dict[str, object]:
        """Add the values that follow from other values, and build the groups."""
        complete(data)
        return build_members(SettingGroups, data)


Environment = schema_of(SettingGroups, EnvironmentRules)
"""The schema of every variable that the service reads."""


def declarations() -> dict[str, fields.Field[object]]:
    """Return the declaration of every variable by the dotted name of its setting."""
    return {str(declared.attribute): declared for _, declared in declarations_of(SettingGroups)}
