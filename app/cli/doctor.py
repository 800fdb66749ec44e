"""`flask doctor`: whether everything the service needs works, one line each, and what to do where it does not."""

import json

import click
from flask import current_app
from flask.cli import with_appcontext

from app.core.settings import PROJECT
from app.doctor.examination import Told, examine
from app.doctor.findings import Level, Patient
from app.extensions import db

COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.FAILURE: "red"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of lines.")
@with_appcontext
def doctor(as_json: bool) -> None:
    """Check settings, stores, mail, keys, worker and machine; exit 1 when something fails."""
    extensions = current_app.extensions
    patient = Patient(
        current_app.config["SETTINGS"],
        db.engine,
        extensions["drivers"],
        extensions["rates"],
        str(PROJECT / "migrations"),
    )
    found = []
    for told in examine(patient):
        found.append(told)
        if not as_json:
            click.echo(_line(told))
    if as_json:
        click.echo(json.dumps([{"check": told.check, **vars(told.finding)} for told in found], indent=2))
    if any(told.finding.level == Level.FAILURE for told in found):
        raise click.exceptions.Exit(1)


def _line(told: Told) -> str:
    finding = told.finding
    level = click.style(f"{finding.level:<8}", fg=COLOURS[finding.level])
    return f"{level} {told.check:<12} {finding.seen}." + (f" {finding.advice}" if finding.advice else "")
