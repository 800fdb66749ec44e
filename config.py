"""What an operator may set, as typed frozen settings read once from the environment.

The groups' shapes are in `app.core.settings`, the schema with every variable, its default and what contradicts what in
`app.core.environment`.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from dotenv import load_dotenv
from marshmallow import ValidationError

from app.core.environment import Environment
from app.core.limits import Limits
from app.core.settings import (
    PROJECT,
    Ai,
    Billing,
    Database,
    Git,
    GitHub,
    GitLab,
    Log,
    MailSettings,
    Retention,
    SandboxSettings,
    Security,
    Server,
    SocialA,
    SocialB,
    Storage,
)


class ConfigError(Exception):
    """The environment makes no settings; the message names every fault, one a line."""


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
    limits: Limits

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Read the variables of `environ`; without one, those of the process with `.env` filling what is not set.

        Raises:
            ConfigError: one or more variables are wrong; the message names each.
        """
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
