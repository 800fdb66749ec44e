"""Execution of all checks. A check that raises is a failure; the remaining checks run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from app.doctor import host_checks, service_checks, settings_checks, store_checks
from app.doctor.findings import Deployment, Finding, failure

Check = Callable[[Deployment], Iterator[Finding]]

CHECKS: dict[str, Check] = {
    "production": settings_checks.production,
    "database": store_checks.database,
    "migrations": store_checks.migrations,
    "connections": store_checks.connections,
    "clock": store_checks.clock,
    "redis": store_checks.redis,
    "storage": store_checks.storage,
    "mail": service_checks.mail,
    "keys": service_checks.keys,
    "worker": service_checks.worker,
    "providers": settings_checks.providers,
    "git": host_checks.git,
    "repositories": host_checks.repositories,
    "previews": host_checks.previews,
    "disk": host_checks.disk,
    "files": host_checks.files,
    "permissions": host_checks.permissions,
}


@dataclass(frozen=True)
class CheckResult:
    """A finding with the name of its check."""

    check: str
    finding: Finding


def run_checks(deployment: Deployment) -> Iterator[CheckResult]:
    """Yield the findings of all checks, in order."""
    for name, check in CHECKS.items():
        try:
            for finding in check(deployment):
                yield CheckResult(name, finding)
        except sa.exc.SQLAlchemyError as error:
            advice = "Check DATABASE_URL, the database and its schema."
            yield CheckResult(name, failure(f"The database cannot be queried ({type(error).__name__})", advice))
        except Exception as error:
            # Report the exception type only. The message may contain secrets.
            yield CheckResult(name, failure(f"This check failed ({type(error).__name__})", "Report this."))
