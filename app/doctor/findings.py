"""What a check tells: how bad it is, what was seen, and what to do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from app.drivers.jobs.port import JobEngine
from config import Settings


class Level(StrEnum):
    """Only a failure makes the doctor's exit code 1."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True)
class Finding:
    """One line. `advice` is empty where all is well."""

    level: Level
    seen: str
    advice: str = ""


@dataclass(frozen=True)
class Patient:
    """The deployment that is looked at; `drivers` by kind, as the application has them."""

    settings: Settings
    engine: sa.Engine
    drivers: Mapping[str, Any]
    rates: Any
    migrations: str

    @property
    def jobs(self) -> JobEngine:
        """The job engine."""
        engine: JobEngine = self.drivers["jobs"]
        return engine


def ok(seen: str) -> Finding:
    """All is well."""
    return Finding(Level.OK, seen)


def warning(seen: str, advice: str) -> Finding:
    """It works, but not for long or not for all."""
    return Finding(Level.WARNING, seen, advice)


def failure(seen: str, advice: str) -> Finding:
    """Something does not work."""
    return Finding(Level.FAILURE, seen, advice)
