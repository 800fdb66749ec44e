"""Tests of `flask database await`, and of parallel and older migration runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_migrate import upgrade

from app.cli.operation import newest, revision
from app.extensions import db
from app.settings.groups import PROJECT
from tests.cli.services import unmigrated_at
from tests.support.databases import postgresql_database
from tests.support.factories import repository
from tests.support.next_version import NextVersion
from tests.support.world import World

FOLDER = str(PROJECT / "migrations")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """Return an application with an empty database."""
    if request.param == "sqlite":
        with unmigrated_at(f"sqlite:///{tmp_path}/app.db", tmp_path) as app:
            yield app
        return
    with postgresql_database() as url, unmigrated_at(url, tmp_path) as app:
        yield app


class TestAwait:
    def test_await_of_an_old_schema_times_out(self, empty: Flask) -> None:
        result = empty.test_cli_runner().invoke(args=["database", "await", "--within", "0"])
        assert result.exit_code == 1
        assert "is at nothing" in result.output

    def test_await_returns_after_the_migrations(self, empty: Flask) -> None:
        with empty.app_context():
            upgrade(directory=FOLDER)
            needed = newest()
        result = empty.test_cli_runner().invoke(args=["database", "await", "--within", "0"])
        assert (result.exit_code, needed in result.output) == (0, True), result.output

    def test_await_accepts_a_newer_schema(self, empty: Flask) -> None:
        _set_revision(empty, "9999")
        assert empty.test_cli_runner().invoke(args=["database", "await", "--within", "0"]).exit_code == 0


class TestUpgrade:
    def test_upgrade_without_a_database_prints_no_traceback(self, tmp_path: Path) -> None:
        nowhere = {
            "DATABASE_URL": "postgresql+psycopg://nobody:hush-hush@127.0.0.1:9/none",
            "INSTANCE_DIR": str(tmp_path),
        }
        flask = str(Path(sys.executable).with_name("flask"))
        done = subprocess.run(
            [flask, "db", "upgrade"], cwd=PROJECT, env=os.environ | nowhere, capture_output=True, text=True
        )
        output = done.stdout + done.stderr
        assert (done.returncode, "The database cannot be migrated now; start again." in output) == (1, True), output
        assert "Traceback" not in output
        assert "hush" not in output

    def test_upgrade_does_not_change_a_newer_schema(self, empty: Flask) -> None:
        _set_revision(empty, "9999")
        with empty.app_context():
            upgrade(directory=FOLDER)
            assert revision() == "9999"

    def test_upgrade_of_a_schema_before_the_first_release_is_refused(self, empty: Flask) -> None:
        _set_revision(empty, "0012")
        with empty.app_context():
            with pytest.raises(SystemExit):
                upgrade(directory=FOLDER)
            assert revision() == "0012"

    def test_migration_of_the_next_version_leaves_this_version_working(self, empty: Flask, tmp_path: Path) -> None:
        with empty.app_context():
            upgrade(directory=FOLDER)
            url = db.engine.url.render_as_string(hide_password=False)
        owner = World(empty).person()
        project = owner.new_project(owner.new_organization(), repository(World(empty), {"a.md": b"# Tea\n"})[0])
        later = NextVersion(tmp_path / "next")
        later.flask("db", "upgrade", APP_ENV="test", DATABASE_URL=url, INSTANCE_DIR=str(tmp_path))
        owner.get(f"/api/v1/project/{project}").ok()
        owner.new_project(owner.new_organization(), repository(World(empty), {"a.md": b"# Tea\n"})[0])
        with empty.app_context():
            upgrade(directory=FOLDER)
            assert revision() == later.revision
            assert set(db.session.scalars(sa.text("SELECT note FROM projects"))) == {"none"}

    def test_upgrade_options_do_not_leak_to_other_connections(self, empty: Flask) -> None:
        with empty.app_context():
            upgrade(directory=FOLDER)
            if db.engine.dialect.name == "postgresql":
                with db.engine.connect() as connection:
                    assert connection.scalar(sa.text("SHOW statement_timeout")) == "5s"
                    # The view lists the locks of all databases of the server.
                    locks = (
                        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
                        " WHERE locktype = 'advisory' AND datname = current_database()"
                    )
                    assert connection.scalar(sa.text(locks)) == 0

    def test_parallel_upgrades_are_serialized(self, tmp_path: Path) -> None:
        with postgresql_database() as url:
            environment = {**os.environ, "APP_ENV": "test", "INSTANCE_DIR": str(tmp_path), "DATABASE_URL": url}
            command = [str(Path(sys.executable).parent / "flask"), "db", "upgrade"]
            both = [subprocess.Popen(command, cwd=PROJECT, env=environment) for _ in range(2)]
            assert [process.wait(120) for process in both] == [0, 0]


def _set_revision(app: Flask, number: str) -> None:
    """Set the revision of the database to an unknown migration."""
    with app.app_context():
        upgrade(directory=FOLDER)
        with db.engine.begin() as connection:
            connection.execute(sa.text("UPDATE alembic_version SET version_num = :number"), {"number": number})
