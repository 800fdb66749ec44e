"""`flask doctor`: checks of the deployment, with one line and advice for each."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click
import sqlalchemy as sa
from flask import current_app
from flask.cli import with_appcontext

from app.doctor import host_checks, service_checks, settings_checks, store_checks
from app.doctor.findings import Deployment, Finding, Severity, failure
from app.extensions import db
from app.observability.masking import mask_credentials
from app.settings.groups import PROJECT

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
    "passkeys": service_checks.passkeys,
    "worker": service_checks.worker,
    "providers": settings_checks.providers,
    "git": host_checks.git,
    "repositories": host_checks.repositories,
    "previews": host_checks.previews,
    "disk": host_checks.disk,
    "files": host_checks.files,
    "permissions": host_checks.permissions,
}
COLOURS = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.FAILURE: "red"}


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


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of lines.")
@with_appcontext
def doctor(as_json: bool) -> None:
    """Check settings, stores, mail, keys, worker and machine. Exits with 1 if a check fails."""
    extensions = current_app.extensions
    deployment = Deployment(
        current_app.config["SETTINGS"],
        db.engine,
        extensions["drivers"],
        extensions["rates"],
        str(PROJECT / "migrations"),
    )
    results = []
    for result in run_checks(deployment):
        results.append(result)
        if not as_json:
            click.echo(_line(result))
    if as_json:
        click.echo(json.dumps(list(map(_json, results)), indent=2))
    if any(result.finding.level == Severity.FAILURE for result in results):
        raise click.exceptions.Exit(1)


def _line(result: CheckResult) -> str:
    finding = result.finding
    level = click.style(f"{finding.level:<8}", fg=COLOURS[finding.level])
    return mask_credentials(
        f"{level} {result.check:<12} {finding.observed}." + (f" {finding.advice}" if finding.advice else "")
    )


def _json(result: CheckResult) -> dict[str, str]:
    finding = result.finding
    observed, advice = mask_credentials(finding.observed), mask_credentials(finding.advice)
    return {"check": result.check, "level": finding.level, "seen": observed, "advice": advice}
