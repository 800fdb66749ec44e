"""Results of checks: severity, observation and advice."""

from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from app.drivers.jobs.port import JobEngine
from app.drivers.registry import Drivers
from app.rate_limiting.counter import RateCounter
from config import Settings


class Severity(StrEnum):
    """The severity of a finding. `flask doctor` exits with 1 if there is a failure."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True)
class Finding:
    """One result of a check. `advice` is empty if nothing has to be done."""

    level: Severity
    observed: str
    advice: str = ""


@dataclass(frozen=True)
class Deployment:
    """The deployment that the checks examine, with the drivers of the application by kind."""

    settings: Settings
    engine: sa.Engine
    drivers: Drivers
    rates: RateCounter
    migrations: str

    @property
    def jobs(self) -> JobEngine:
        engine: JobEngine = self.drivers.jobs
        return engine


def ok(observed: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(Severity.OK, observed)


def warning(observed: str, advice: str) -> Finding:
    """Return a finding about something that works with restrictions."""
    return Finding(Severity.WARNING, observed, advice)


def failure(observed: str, advice: str) -> Finding:
    """Return a finding about something that does not work."""
    return Finding(Severity.FAILURE, observed, advice)
