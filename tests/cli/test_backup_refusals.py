"""Tests of `flask backup` and `flask restore` with invalid input: both report the cause and overwrite nothing."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from app.backup import manifest as manifests
from app.backup.json_lines import read_all
from app.backup.save import section_path, table_path
from app.extensions import db, drivers
from tests.cli.services import BINARY, command, contents, empty_service
from tests.support.applications import application, settings_for
from tests.support.databases import another_database
from tests.support.factories import organization, project, repository
from tests.support.full_disk import files_of_at_most
from tests.support.world import World


@pytest.fixture(scope="module")
def app(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Return an application of this module. The shared application contains rows of other tests."""
    home = tmp_path_factory.mktemp("service")
    with another_database(store, home) as url, application(settings_for(home, url)) as flask_app:
        world = World(flask_app)
        me = world.person()
        name, _ = repository(world, BINARY)
        project(world, me, organization(world, me), name)
        yield flask_app


@pytest.fixture(scope="module")
def backup(app: Flask, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("backup") / "saved"
    code, output = command(app, "backup", place)
    assert code == 0, output
    return place


@pytest.fixture(scope="module")
def unchanged(app: Flask, store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Return a service without tables that refuses restores before it creates its tables."""
    with empty_service(store, tmp_path_factory.mktemp("unchanged") / "new", app.config["SETTINGS"]) as made:
        yield made
        with made.app_context(), db.engine.connect() as connection:
            assert sa.inspect(connection).get_table_names() == []


class TestRefusals:
    @pytest.fixture
    def saved(self, backup: Path, tmp_path: Path) -> Path:
        """Return the folder of a new backup."""
        return shutil.copytree(backup, tmp_path / "saved")

    @pytest.fixture
    def empty(self, app: Flask, store: str, tmp_path: Path) -> Iterator[Flask]:
        with empty_service(store, tmp_path / "new", app.config["SETTINGS"]) as made:
            yield made

    def test_restore_to_a_database_with_rows_is_refused(self, app: Flask, saved: Path) -> None:
        code, output = command(app, "restore", saved)
        assert code == 1
        assert "This database is not empty" in output

    @pytest.mark.one_database
    def test_backup_to_a_folder_with_files_is_refused(self, app: Flask, saved: Path) -> None:
        before = sorted(saved.rglob("*"))
        code, output = command(app, "backup", saved)
        assert (code, sorted(saved.rglob("*"))) == (1, before)
        assert "is not empty" in output

    @pytest.mark.one_database
    def test_backup_on_a_full_disk_fails_and_leaves_no_manifest(self, app: Flask, tmp_path: Path) -> None:
        with files_of_at_most(100):
            code, output = command(app, "backup", tmp_path / "cut")
        assert code == 1
        assert "cannot be written" in output
        assert command(app, "restore", tmp_path / "cut")[0] == 1

    @pytest.mark.one_database
    def test_restore_without_a_manifest_is_refused(self, unchanged: Flask, tmp_path: Path) -> None:
        code, output = command(unchanged, "restore", tmp_path / "nothing")
        assert code == 1
        assert "is not a complete backup" in output

    @pytest.mark.one_database
    @pytest.mark.parametrize("text", ["[]", '{"format": 1}', '{"format": 1, "jobs": 3}'])
    def test_restore_with_an_incomplete_manifest_is_refused(self, unchanged: Flask, saved: Path, text: str) -> None:
        (saved / manifests.FILE).write_text(text)
        code, output = command(unchanged, "restore", saved)
        assert (code, output.startswith("Error: ")) == (1, True), output

    @pytest.mark.one_database
    def test_restore_without_a_required_key_names_the_key(self, unchanged: Flask, saved: Path) -> None:
        self._change(saved, keys=["gone"])
        code, output = command(unchanged, "restore", saved)
        assert code == 1
        assert "encrypted with gone. Add the key" in output

    @pytest.mark.one_database
    @pytest.mark.parametrize("revision", ["0008", "9999"], ids=["before the first release", "newer"])
    def test_restore_of_an_unknown_schema_is_refused(self, revision: str, unchanged: Flask, saved: Path) -> None:
        self._change(saved, revision=revision)
        code, output = command(unchanged, "restore", saved)
        assert code == 1
        assert f"This version does not know the schema {revision} of the backup." in output

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param("flip", marks=pytest.mark.one_database),
            "cut",
            pytest.param("lose", marks=pytest.mark.one_database),
        ],
    )
    def test_restore_of_a_damaged_table_restores_nothing(self, empty: Flask, saved: Path, damage: str) -> None:
        place = table_path(saved, "users")
        raw = place.read_bytes()
        if damage == "flip":
            place.write_bytes(raw[:20] + bytes([raw[20] ^ 1]) + raw[21:])
        elif damage == "cut":
            place.write_bytes(raw[:-9])
        else:
            place.unlink()
        code, output = command(empty, "restore", saved)
        assert code == 1
        assert "users.jsonl.zst of the backup" in output
        assert {rows for rows, _ in contents(empty).values()} == {0}

    @pytest.mark.one_database
    def test_restore_of_a_damaged_object_or_missing_bundle_is_refused(self, empty: Flask, saved: Path) -> None:
        shutil.rmtree(saved / "repositories")
        code, output = command(empty, "restore", saved)
        assert code == 1
        assert "is missing or damaged" in output

    @pytest.mark.one_database
    def test_restore_does_not_overwrite_a_different_repository(self, empty: Flask, saved: Path) -> None:
        listed = read_all(section_path(saved, "repositories"), manifests.read(saved).repositories)
        name = json.loads(next(listed))[0]
        with empty.app_context():
            drivers.git.local.create(name)
        code, output = command(empty, "restore", saved)
        assert code == 1
        assert f"different repository {name} exists" in output

    @pytest.mark.one_database
    def test_verify_names_each_difference(self, empty: Flask, saved: Path) -> None:
        read = manifests.read(saved)
        users = read.tables["users"]
        assert command(empty, "restore", saved)[0] == 0
        with empty.app_context(), db.engine.begin() as connection:
            connection.execute(sa.text("UPDATE users SET name = 'Somebody else'"))
        from app.backup import restore
        from app.cli.backup import _service

        with empty.app_context():
            differences = list(restore.differences(_service(), saved, read))
        assert differences == [f"table users differs: {users.lines} rows, {users.lines} saved"]

    def _change(self, saved: Path, **values: object) -> None:
        place = saved / manifests.FILE
        place.write_text(json.dumps(json.loads(place.read_text()) | values))
