"""What the commands tell where something outside of them fails: a sentence, never a traceback."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from flask import Flask

from app.cli.failures import telling
from app.core.errors import Unavailable
from app.drivers.errors import DriverError
from tests.apps import another_database
from tests.cli.services import command, unmigrated_at

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
    with another_database(store, tmp_path) as url, unmigrated_at(url, tmp_path) as app:
        yield app


@pytest.fixture
def unreachable(tmp_path: Path) -> Iterator[Flask]:
    with unmigrated_at("postgresql+psycopg://nobody:hush-hush@127.0.0.1:9/none", tmp_path) as app:
        yield app


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
class TestTheDatabase:
    def test_one_without_tables_is_to_be_migrated(self, unmigrated: Flask, words: tuple[str, ...]) -> None:
        told = (1, "Error: The database lacks tables of this version; run flask db upgrade.\n")
        assert command(unmigrated, *words) == told

    def test_one_out_of_reach_is_told_without_its_password(self, unreachable: Flask, words: tuple[str, ...]) -> None:
        code, told = command(unreachable, *words)
        assert (code, told.startswith("Error: The database cannot be used: ")) == (1, True), told
        assert "hush" not in told


class TestABackup:
    def test_of_a_database_out_of_reach_is_not_made(self, unreachable: Flask, tmp_path: Path) -> None:
        code, told = command(unreachable, "backup", tmp_path / "saved")
        assert (code, "The database cannot be used: " in told) == (1, True), told
        assert not (tmp_path / "saved" / "manifest.json").exists()


def run(failure: Exception) -> Result:
    @click.group()
    def group() -> None:
        """A group of one command."""

    @group.command("one")
    def one() -> None:
        raise failure

    return CliRunner().invoke(telling(group), ["one"])


class TestOthers:
    @pytest.mark.parametrize(
        ("failure", "told"),
        [
            (DriverError("The disk of the repositories is full"), "The disk of the repositories is full"),
            (Unavailable("The database is busy"), "The database is busy"),
            (PermissionError(13, "Permission denied", "/srv/key"), "/srv/key cannot be used: Permission denied."),
        ],
    )
    def test_what_fails_outside_is_one_sentence(self, failure: Exception, told: str) -> None:
        done = run(failure)
        assert (done.exit_code, done.output) == (1, f"Error: {told}\n")

    def test_a_fault_of_ours_keeps_its_traceback(self) -> None:
        for failure in (sa.exc.ProgrammingError("SELEC", {}, Exception("syntax error")), KeyError("users")):
            assert run(failure).exception is failure
