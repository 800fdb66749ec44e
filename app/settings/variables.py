"""All setting groups, and the schema of their variables with the rules that concern more than one of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from app.core.limits import Limits
from app.settings.defaults import complete
from app.settings.fields import url
from app.settings.groups import ReferenceSection, build_members, declarations_of, schema_of
from app.settings.production import production_errors
from app.settings.providers import (
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
)
from app.settings.server import EnvironmentSchema, ProcessSettings
from app.settings.stores import DatabaseSettings, MailSettings, Security, StorageSettings

REQUIRED_TOGETHER = {
    ("STORAGE_DRIVER", "s3"): ("S3_BUCKET",),
    ("MAIL_DRIVER", "smtp"): ("SMTP_URL",),
    ("SANDBOX_DRIVER", "hosted"): ("SANDBOX_API_URL", "SANDBOX_API_KEY"),
    ("BILLING_DRIVER", "paddle"): ("PADDLE_API_KEY", "PADDLE_WEBHOOK_SECRET"),
}


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
    limits: Annotated[Limits, CREATION_LIMITS, ReferenceSection("Limits")]
    retention: Annotated[Retention, ReferenceSection("Limits")]


class EnvironmentRules(EnvironmentSchema):
    """The rules that concern more than one variable, and the values that follow from other values."""

    def value(self, data: Mapping[str, Any], variable: str) -> Any:
        """Return the loaded value of a variable, or None if it is invalid or not set."""
        value: Any = data
        for name in str(self.fields[variable].attribute).split("."):
            value = (value or {}).get(name)
        return value

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def check_conflicts(self, data: Mapping[str, Any], original: Mapping[str, str], **_: object) -> None:
        """Report every error that concerns more than one variable."""
        errors = dict(self._conflicts(data, original))
        if self.value(data, "APP_ENV") == "production":
            values = {name: self.value(data, name) for name in self.fields}
            errors |= dict(production_errors(values, original))
        if errors:
            raise ValidationError({name: [message] for name, message in errors.items()})

    def _conflicts(self, data: Mapping[str, Any], original: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name in original:
            if name.startswith("APP_") and name not in self.fields:
                yield name, "Is not a setting."
        for (variable, driver), required in REQUIRED_TOGETHER.items():
            if self.value(data, variable) == driver:
                missing = [name for name in required if name not in original]
                yield from ((name, f"Is required with {variable}={driver}.") for name in missing)

    @post_load
    def build(self, data: dict[str, Any], **_: object) -> dict[str, Any]:
        """Add the values that follow from other values, and build the groups."""
        complete(data)
        return build_members(SettingGroups, data)


Environment = schema_of(SettingGroups, EnvironmentRules)
"""The schema of every variable that the service reads."""


def declarations() -> dict[str, fields.Field[Any]]:
    """Return the declaration of every variable by the dotted name of its setting."""
    return {str(declared.attribute): declared for _, declared in declarations_of(SettingGroups)}
