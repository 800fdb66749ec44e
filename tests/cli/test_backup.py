"""`flask backup` and `flask restore`: all of a lived-in service in a folder, and the same service from it."""

import dataclasses
import json
import secrets
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_migrate import upgrade

from app import create_app
from app.backup import manifest as manifests
from app.backup import tables
from app.backup.lines import Digest, read_all
from app.backup.manifest import Section
from app.backup.saving import place_of, table_place
from app.core.secrets import Keyring
from app.core.settings import PROJECT
from app.extensions import db, drivers
from app.models.project import Project
from app.models.project_content import ContentIndex
from app.models.project_log import ProjectLogEntry
from app.resources.git_provider.service import keeper
from config import Settings
from tests.apps import another_database, application
from tests.contract.matrix import Matrix
from tests.contract.outside import Outside
from tests.contract.scene import template
from tests.factories import organization, project, repository
from tests.full_disk import files_of_at_most
from tests.git_hosts import connect_github, login_of
from tests.resources.bucket.places import upload
from tests.s3server import S3Server
from tests.world import World

BINARY = {"cover.png": bytes(range(256)) * 40, "notes.md": b"# Notes\n\nA lighthouse at dusk.\n"}


def command(app: Flask, *words: object) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=[str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


@contextmanager
def empty_service(store: str, home: Path, like: Settings, **storage: object) -> Iterator[Flask]:
    """A service that nobody has used, without even tables, under the keys of another."""
    home.mkdir()
    with another_database(store, home) as url:
        plain = Settings.for_tests(home, DATABASE_URL=url, RATE_LIMIT_SCALE=100_000)
        kept = dataclasses.replace(plain.storage, **storage)  # type: ignore[arg-type]
        app = create_app(dataclasses.replace(plain, security=like.security, github=like.github, storage=kept))
        yield app
        with app.app_context():
            db.session.remove()
            db.engine.dispose()


@contextmanager
def lived_in(store: str, home: Path, *, walked: bool = True, **storage: object) -> Iterator[tuple[Flask, Outside]]:
    """A service with the demo, a picture and a sealed credential, whose every route was called by an owner if `walked`."""
    home.mkdir()
    with Outside() as outside, another_database(store, home) as url:
        plain = outside.settings(url, home)
        kept = dataclasses.replace(plain.storage, **storage)  # type: ignore[arg-type]
        with application(dataclasses.replace(plain, storage=kept)) as app:
            app.extensions["outside"] = outside
            assert command(app, "seed", "demo")[0] == 0
            World(app).work_off(within_s=300)
            matrix = Matrix(app, template(home / "template.git"), whole=False)
            World(app).work_off(within_s=300)
            matrix.scene.served_key = upload(matrix.scene.owner).ok(201)["key"]
            assert not walked or matrix.cells(callers=("owner",)).checked > 80
            World(app).work_off(within_s=300)
            me = World(app).person()
            connect_github(me, outside.hosts, outside.hosts.on_github(login_of(me)).installation)
            yield app, outside


def contents(app: Flask) -> dict[str, tuple[int, str]]:
    """Every table's rows as a number and a hash that no order changes."""
    found = {}
    with app.app_context(), db.engine.connect() as connection:
        for table in tables.tables_of(connection, app.extensions["jobs"]):
            digest = Digest()
            for line in tables.lines_of(connection, table):
                digest.add(line)
            found[table.name] = (digest.lines, digest.sha256)
    return found


def objects(app: Flask) -> dict[str, bytes]:
    with app.app_context():
        store = drivers["storage"]
        return {found.key: b"".join(store.get(found.key)) for found in store.list()}


def histories(app: Flask) -> dict[str, object]:
    with app.app_context():
        bundles = drivers["git"].local.bundles
        return {name: bundles.described(name) for name in bundles.names()}


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(params=["local", "s3"])
def storages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Two places for media: one to save from, one to restore into."""
    if request.param == "local":
        return [{}, {}]
    server: S3Server = request.getfixturevalue("s3")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    names = [f"bucket-{secrets.token_hex(4)}" for _ in range(2)]
    for name in names:
        server.make_bucket(name)
    return [{"driver": "s3", "s3_bucket": name, "s3_endpoint_url": server.url} for name in names]


class TestBackupAndRestore:
    def test_a_lived_in_service_comes_back_with_equal_rows_objects_and_repositories(
        self, store: str, storages: list[dict[str, object]], tmp_path: Path
    ) -> None:
        walked = not storages[0]  # once is enough, and each call costs more over S3
        with lived_in(store, tmp_path / "old", walked=walked, **storages[0]) as (old, outside):
            World(old).person().post("/auth/forget-password", {"email": "owner@demo.example.org"}).ok()
            code, told = command(old, "backup", tmp_path / "saved")
            before = contents(old), objects(old), histories(old)
            # The scene's own asset rows have no object behind them, which a backup tells.
            assert code == (1 if "lacks" in told else 0), told
            assert "Secrets in it stay sealed with k1" in told
            settings = old.config["SETTINGS"]
            with empty_service(store, tmp_path / "new", settings, **storages[1]) as new:
                code, told = command(new, "restore", "--verify", tmp_path / "saved")
                assert code == 0, told
                assert told.endswith("Rows, media and repositories equal the backup.\n")
                assert (contents(new), objects(new), histories(new)) == before
                filled = {name for name, (rows, _) in before[0].items() if rows}
                assert {"users", "content_texts", "git_credentials", "media_assets"} <= filled
                assert before[1]
                assert len(before[2]) >= 3
                self._lives(new, outside)

    def _lives(self, new: Flask, outside: Outside) -> None:
        """The waiting mail leaves, search finds, a credential opens, and what is new gets numbers of its own."""
        World(new).work_off(within_s=300)
        with new.app_context():
            found = db.session.scalars(sa.select(Project).where(Project.name == "The Harbour Journal")).one()
            kept = keeper(drivers["git"])
            credential = db.session.execute(
                sa.text("SELECT id FROM git_credentials WHERE provider = 'github'")
            ).scalars()
            assert {kept.token(one) for one in credential} <= set(outside.hosts.github.grants)
            owner = db.session.execute(
                sa.text("SELECT id, email FROM users WHERE email = 'owner@demo.example.org'")
            ).one()
        world = World(new)
        me = world.person()
        org = organization(world, me)
        fresh, _ = repository(world, {"a.md": b"# Lantern\n\nA lantern on the pier.\n"})
        mine = project(world, me, org, fresh)
        world.work_off(within_s=300)
        assert [hit["path"] for hit in me.get(f"/project-content/{mine}/search?q=lantern").ok()] == ["a.md"]
        assert owner.email == "owner@demo.example.org"
        with new.app_context():
            index = db.session.scalars(sa.select(ContentIndex).where(ContentIndex.project_id == found.id)).first()
            assert index is not None
            assert index.described_sha == index.commit_sha

    def test_what_is_written_meanwhile_leaves_a_backup_of_one_moment(self, store: str, tmp_path: Path) -> None:
        with lived_in(store, tmp_path / "old") as (old, _):
            world, stop = World(old), threading.Event()
            me = world.person()
            org = organization(world, me)
            name, there = repository(world, BINARY)
            mine, head = project(world, me, org, name), there.head("main")
            world.work_off(within_s=300)
            saved: list[str] = []
            faults: list[BaseException] = []

            def save_files() -> None:
                try:
                    while not stop.is_set():
                        file = {"path": f"n{len(saved)}.md", "action": "create", "content": f"# {len(saved)}\n"}
                        body = {"message": "Add", "base_sha": head, "files": [file]}
                        made = me.post(f"/project-content/{mine}/commit", body).ok(201)
                        saved.append(made["commit_sha"])
                except BaseException as error:
                    faults.append(error)

            writer = threading.Thread(target=save_files)
            writer.start()
            try:
                while len(saved) < 3 and not faults:
                    stop.wait(0.05)
                begun = len(saved)
                code, told = command(old, "backup", tmp_path / "saved")
                ended = len(saved)
            finally:
                stop.set()
                writer.join(30)
            assert faults == []
            assert "Saved" in told
            assert code in (0, 1)
            with empty_service(store, tmp_path / "new", old.config["SETTINGS"]) as new:
                assert command(new, "restore", "--verify", tmp_path / "saved")[0] == 0
                with new.app_context():
                    entries = db.session.scalars(
                        sa.select(ProjectLogEntry).where(ProjectLogEntry.project_id == mine)
                    ).all()
                    told_of = {entry.commit_sha for entry in entries} & set(saved)
                    history = drivers["git"].local.bundles.described(name)
                    assert set(saved[:begun]) <= told_of
                    assert told_of == set(saved[: len(told_of)])
                    assert history is not None
                    assert ended >= begun

    def test_a_sqlite_service_moves_to_postgresql(self, tmp_path: Path) -> None:
        from tests.conftest import postgresql_database

        with lived_in("sqlite://", tmp_path / "old") as (old, outside), postgresql_database() as postgresql:
            command(old, "backup", tmp_path / "saved")
            before = contents(old), objects(old), histories(old)
            with empty_service(postgresql, tmp_path / "new", old.config["SETTINGS"]) as new:
                code, told = command(new, "restore", "--verify", tmp_path / "saved")
                assert code == 0, told
                after = contents(new)
                anew = {"content_texts", "content_links", "content_indexes"}
                assert {name: rows for name, rows in after.items() if name not in anew} == {
                    name: rows for name, rows in before[0].items() if name not in anew
                }
                assert (objects(new), histories(new)) == before[1:]
                TestBackupAndRestore()._lives(new, outside)
                assert contents(new)["content_texts"][0] >= before[0]["content_texts"][0]


class TestRefusals:
    @pytest.fixture
    def saved(self, app: Flask, world: World, tmp_path: Path) -> Path:
        """A backup of the tests' own service."""
        me = world.person()
        name, _ = repository(world, BINARY)
        project(world, me, organization(world, me), name)
        code, told = command(app, "backup", tmp_path / "saved")
        assert code == 0 or "lacks" in told, told
        return tmp_path / "saved"

    @pytest.fixture
    def empty(self, app: Flask, store: str, tmp_path: Path) -> Iterator[Flask]:
        with empty_service(store, tmp_path / "new", app.config["SETTINGS"]) as made:
            yield made

    def test_a_database_with_rows_is_not_filled(self, app: Flask, saved: Path) -> None:
        code, told = command(app, "restore", saved)
        assert code == 1
        assert "This database is not empty" in told

    def test_a_folder_with_files_is_not_written_to(self, app: Flask, saved: Path) -> None:
        before = sorted(saved.rglob("*"))
        code, told = command(app, "backup", saved)
        assert (code, sorted(saved.rglob("*"))) == (1, before)
        assert "is not empty" in told

    def test_a_full_disk_is_told_and_leaves_no_backup(self, app: Flask, tmp_path: Path) -> None:
        with files_of_at_most(100):
            code, told = command(app, "backup", tmp_path / "cut")
        assert code == 1
        assert "cannot be written" in told
        assert command(app, "restore", tmp_path / "cut")[0] == 1

    def test_a_folder_without_a_manifest_is_no_backup(self, empty: Flask, tmp_path: Path) -> None:
        code, told = command(empty, "restore", tmp_path / "nothing")
        assert code == 1
        assert "holds no complete backup" in told

    def test_a_key_that_is_not_given_is_named(self, empty: Flask, saved: Path) -> None:
        self._change(saved, keys=["gone"])
        code, told = command(empty, "restore", saved)
        assert code == 1
        assert "sealed with gone; add that key" in told

    def test_a_schema_of_a_newer_version_is_refused(self, empty: Flask, saved: Path) -> None:
        self._change(saved, revision="9999")
        code, told = command(empty, "restore", saved)
        assert code == 1
        assert "made by a newer version" in told

    @pytest.mark.parametrize("damage", ["flip", "cut", "lose"])
    def test_a_damaged_table_is_noticed_and_nothing_is_put_back(self, empty: Flask, saved: Path, damage: str) -> None:
        place = table_place(saved, "users")
        raw = place.read_bytes()
        if damage == "flip":
            place.write_bytes(raw[:20] + bytes([raw[20] ^ 1]) + raw[21:])
        elif damage == "cut":
            place.write_bytes(raw[:-9])
        else:
            place.unlink()
        code, told = command(empty, "restore", saved)
        assert code == 1
        assert "users.jsonl.zst of the backup is" in told
        assert {rows for rows, _ in contents(empty).values()} == {0}

    def test_a_damaged_object_and_a_lost_bundle_are_noticed(self, empty: Flask, saved: Path) -> None:
        shutil.rmtree(saved / "repositories")
        code, told = command(empty, "restore", saved)
        assert code == 1
        assert "is missing or damaged" in told

    def test_another_repository_of_a_name_is_not_written_over(self, empty: Flask, saved: Path) -> None:
        listed = read_all(place_of(saved, "repositories"), manifests.read(saved).repositories)
        name = json.loads(next(listed))[0]
        with empty.app_context():
            drivers["git"].local.create(name)
        code, told = command(empty, "restore", saved)
        assert code == 1
        assert f"another repository {name} already" in told

    def test_verifying_names_what_differs(self, empty: Flask, saved: Path) -> None:
        read = manifests.read(saved)
        users = read.tables["users"]
        assert command(empty, "restore", saved)[0] == 0
        with empty.app_context(), db.engine.begin() as connection:
            connection.execute(sa.text("UPDATE users SET name = 'Somebody else'"))
        from app.backup import verifying
        from app.cli.backup import _service

        with empty.app_context():
            told = list(verifying.differences(_service(), saved, read))
        assert told == [f"table users differs: {users.lines} rows, {users.lines} saved"]

    def _change(self, saved: Path, **values: object) -> None:
        place = saved / manifests.FILE
        place.write_text(json.dumps(json.loads(place.read_text()) | values))


class TestOlder:
    def test_a_backup_of_an_older_schema_is_put_back_and_migrated(self, store: str, tmp_path: Path) -> None:
        (tmp_path / "old").mkdir()
        with another_database(store, tmp_path / "old") as url:
            old = create_app(Settings.for_tests(tmp_path / "old", DATABASE_URL=url))
            with old.app_context():
                upgrade(directory=str(PROJECT / "migrations"), revision="0008")
                db.session.execute(
                    sa.text(
                        "INSERT INTO git_deliveries (provider, delivery, received_at)"
                        " VALUES ('github', 'one', '2026-01-02 03:04:05.000000')"
                    )
                )
                db.session.commit()
            assert command(old, "backup", tmp_path / "saved")[0] == 0
            assert manifests.read(tmp_path / "saved").revision == "0008"
            with empty_service(store, tmp_path / "new", old.config["SETTINGS"]) as new:
                code, told = command(new, "restore", "--verify", tmp_path / "saved")
                assert code == 0, told
                with new.app_context():
                    at = db.session.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one()
                    assert at > "0008"
                    assert db.session.execute(sa.text("SELECT delivery FROM git_deliveries")).scalar_one() == "one"
            with old.app_context():
                db.session.remove()
                db.engine.dispose()


class TestSealed:
    def test_no_secret_stands_in_a_backup_in_clear(self, store: str, tmp_path: Path) -> None:
        with lived_in(store, tmp_path / "old") as (old, outside):
            command(old, "backup", tmp_path / "saved")
            read = manifests.read(tmp_path / "saved")
            text = b"".join(self._lines(tmp_path / "saved", read.tables))
            assert outside.hosts.github.grants
            assert not [token for token in outside.hosts.github.grants if token.encode() in text]
            assert read.keys == ["k1"]
            assert isinstance(Keyring(old.config["SETTINGS"].security.encryption_keys), Keyring)

    def _lines(self, saved: Path, sections: dict[str, Section]) -> Iterator[bytes]:
        for name, section in sections.items():
            yield from read_all(table_place(saved, name), section)
