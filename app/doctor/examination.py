"""Runs every check; one that cannot be carried out is itself a failure, and the others go on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from app.doctor import machine, service, setup, stores
from app.doctor.findings import Finding, Patient, failure

Check = Callable[[Patient], Iterator[Finding]]

CHECKS: dict[str, Check] = {
    "production": setup.production,
    "database": stores.database,
    "migrations": stores.migrations,
    "connections": stores.connections,
    "clock": stores.clock,
    "redis": stores.redis,
    "storage": stores.storage,
    "mail": service.mail,
    "keys": service.keys,
    "worker": service.worker,
    "providers": setup.providers,
    "git": machine.git,
    "previews": machine.previews,
    "disk": machine.disk,
    "files": machine.files,
}


@dataclass(frozen=True)
class Told:
    """A finding and the check that made it."""

    check: str
    finding: Finding


def examine(patient: Patient) -> Iterator[Told]:
    """Every finding of every check, in order."""
    for name, check in CHECKS.items():
        try:
            for finding in check(patient):
                yield Told(name, finding)
        except sa.exc.SQLAlchemyError as error:
            advice = "Look at DATABASE_URL, the database and its schema."
            yield Told(name, failure(f"The database cannot be asked ({type(error).__name__})", advice))
        except Exception as error:
            # Only its kind: the words of strangers may quote what they were given.
            yield Told(name, failure(f"This could not be looked at ({type(error).__name__})", "Report this."))
