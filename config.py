"""Typed frozen settings, read once from the environment.

`app.settings` contains the setting groups with the declarations of their variables, and the derived defaults.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import load_dotenv
from marshmallow import ValidationError, fields

from app.observability.masking import MASK, mask_credentials
from app.settings.groups import PROJECT
from app.settings.providers import GitHub, GitLab
from app.settings.server import error_text
from app.settings.variables import Environment, SettingGroups, declarations


class ConfigError(Exception):
    """Invalid environment variables. The message has one line for each of them."""


@dataclass(frozen=True)
class Settings(SettingGroups):
    """The settings of the service and its limits."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Read the variables of `environ`; by default those of the process, completed by the file `.env`.

        Raises:
            ConfigError: at least one variable is invalid.
        """
        if environ is None:
            load_dotenv(PROJECT / ".env")
            environ = os.environ
        variables = {name: value for name, value in environ.items() if value.strip()}
        try:
            return cls(**Environment().load(variables))
        except ValidationError as error:
            raise ConfigError(error_text(error)) from error

    @classmethod
    def for_tests(cls, instance_dir: Path, **environment: object) -> "Settings":
        """Return settings of `APP_ENV=test` with the instance folder `instance_dir`. The environment is not read.

        Builds wait: most tests that submit a change set need none.
        """
        variables = {"APP_ENV": "test", "INSTANCE_DIR": str(instance_dir), "BUILD_PROCESSES": "0"}
        return cls.from_environment(variables | {name: str(value) for name, value in environment.items()})

    @property
    def is_production(self) -> bool:
        """Return whether weak secrets and development drivers are refused."""
        return self.env == "production"

    @property
    def remote_hosts(self) -> Mapping[str, GitHub | GitLab]:
        """Return the settings of the remote Git hosts by the name of the provider."""
        return {"github": self.github, "gitlab": self.gitlab}

    def __repr__(self) -> str:
        """Return the masked settings. A log line or a traceback may contain them."""
        return f"Settings({self.masked()})"

    def masked(self) -> dict[str, str]:
        """Return every setting as text by its dotted name. Secrets and the user-info of URLs are masked."""
        return dict(_masked(self, "", declarations()))


def _masked(group: Any, prefix: str, known: Mapping[str, fields.Field[Any]]) -> Iterator[tuple[str, str]]:
    for item in dataclasses.fields(group):
        name, value = prefix + item.name, getattr(group, item.name)
        if dataclasses.is_dataclass(value):
            yield from _masked(value, f"{name}.", known)
        elif value is None:
            yield name, "(not set)"
        elif name in known and known[name].metadata["secret"]:
            yield name, MASK
        else:
            values = value if isinstance(value, tuple) else (value,)
            yield name, ", ".join(map(mask_credentials, map(str, values)))
