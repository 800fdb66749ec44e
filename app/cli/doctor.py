"""`flask doctor`: checks of the deployment, with one line and advice for each."""

import json

import click
from flask import current_app
from flask.cli import with_appcontext

from app.doctor.findings import Deployment, Severity
from app.doctor.runner import CheckResult, run_checks
from app.extensions import db
from app.observability.masking import mask_credentials
from app.settings.groups import PROJECT

COLOURS = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.FAILURE: "red"}


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
