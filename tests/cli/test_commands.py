"""Tests of the frame of commands: their state at the start, and one sentence without a traceback for an error."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from flask import Flask

from app.cli.commands import wrap_command
from app.core.errors import ServiceUnavailable
from app.drivers.errors import DriverError
from tests.cli.services import command, unmigrated_at
from tests.support.databases import another_database

COMMANDS = (
    ("seed", "demo"),
    ("user", "promote", "me@example.org"),
    ("git", "create", "tools/one"),
    ("index", "verify", "prj_01h455vb4pex5vsknk084sn02q"),
    ("keys", "rotate"),
    ("billing", "summary"),
    ("jobs", "dead"),
)


@pytest.fixture
def unmigrated(store: str, tmp_path: Path) -> Iterator[Flask]:
    with another_database(store, tmp_path, is_empty=True) as url, unmigrated_at(url, tmp_path) as app:
        yield app


@pytest.fixture
def unreachable(tmp_path: Path) -> Iterator[Flask]:
    with unmigrated_at("postgresql+psycopg://nobody:hush-hush@127.0.0.1:9/none", tmp_path) as app:
        yield app


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
class TestDatabase:
    def test_command_without_tables_names_the_migration_command(
        self, unmigrated: Flask, words: tuple[str, ...]
    ) -> None:
        told = (1, "Error: Tables of this version are missing. Run flask db upgrade.\n")
        assert command(unmigrated, *words) == told

    def test_unreachable_database_is_reported_without_its_password(
        self, unreachable: Flask, words: tuple[str, ...]
    ) -> None:
        code, output = command(unreachable, *words)
        assert (code, output.startswith("Error: The database cannot be used: ")) == (1, True), output
        assert "hush" not in output


class TestBackup:
    def test_backup_without_a_database_is_not_written(self, unreachable: Flask, tmp_path: Path) -> None:
        code, output = command(unreachable, "backup", tmp_path / "saved")
        assert (code, "The database cannot be used: " in output) == (1, True), output
        assert not (tmp_path / "saved" / "manifest.json").exists()


def run(failure: Exception) -> Result:
    @click.group()
    def group() -> None:
        """Return a command group with one command."""

    @group.command("one")
    def one() -> None:
        raise failure

    return CliRunner().invoke(wrap_command(group), ["one"])


class TestFailures:
    @pytest.mark.parametrize(
        ("failure", "told"),
        [
            (DriverError("The disk of the repositories is full"), "The disk of the repositories is full"),
            (ServiceUnavailable("The database is busy"), "The database is busy"),
            (PermissionError(13, "Permission denied", "/srv/key"), "/srv/key cannot be used: Permission denied."),
        ],
    )
    def test_external_failure_prints_one_sentence(self, failure: Exception, told: str) -> None:
        done = run(failure)
        assert (done.exit_code, done.output) == (1, f"Error: {told}\n")

    def test_defect_keeps_its_traceback(self) -> None:
        for failure in (sa.exc.ProgrammingError("SELEC", {}, Exception("syntax error")), KeyError("users")):
            assert run(failure).exception is failure
