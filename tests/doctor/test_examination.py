"""What `flask doctor` notices: each thing that can be wrong, and that nothing secret is told."""

import base64
import dataclasses
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.rates import RateCounter
from app.core.settings import PROJECT
from app.doctor import machine, service, setup, stores
from app.doctor.examination import CHECKS, examine
from app.doctor.findings import Finding, Level, Patient
from app.drivers.errors import DriverError
from app.drivers.jobs.port import QueueCounts
from app.drivers.mail.smtp import SmtpMail
from app.drivers.sandbox.port import SandboxUnavailable
from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.models.git_credential import GitCredential
from app.models.project import Provider
from app.resources.git_provider import sealing
from config import Settings
from tests.world import World

MIGRATIONS = str(PROJECT / "migrations")
NOWHERE = "postgresql+psycopg://nobody:hush-hush@127.0.0.1:9/none"
KEY = base64.b64encode(os.urandom(32)).decode()
PRODUCTION = {
    "APP_ENV": "production",
    "SECRET_KEY": "kT9" * 16,
    "ENCRYPTION_KEYS": f"k1:{KEY}",
    "MAIL_DRIVER": "file",
    "BASE_URL": "https://galley.test",
    "TRUSTED_HOPS": "1",
    "LOG_FORMAT": "json",
}


@pytest.fixture
def patient(app: Flask) -> Patient:
    """The tests' own service, all well but for its worker."""
    found = app.extensions
    with app.app_context():
        return Patient(app.config["SETTINGS"], db.engine, found["drivers"], found["rates"], MIGRATIONS)


def settings(home: Path, **environment: str) -> Settings:
    return Settings.from_environment({"INSTANCE_DIR": str(home), **environment})


def look(check: Any, patient: Patient, **changed: Any) -> list[Finding]:
    return list(check(dataclasses.replace(patient, **changed)))


def worst(found: list[Finding]) -> tuple[Level, str]:
    order = [Level.OK, Level.WARNING, Level.FAILURE]
    finding = max(found, key=lambda one: order.index(one.level))
    assert finding.level == Level.OK or finding.advice
    return finding.level, finding.seen


def with_driver(patient: Patient, kind: str, driver: object) -> Patient:
    return dataclasses.replace(patient, drivers={**patient.drivers, kind: driver})


class Queue:
    """A job engine whose queue is as told."""

    def __init__(self, **counts: Any) -> None:
        self._counts = QueueCounts(
            **({"waiting": 0, "running": 0, "dead": 0, "lag_s": 0.0, "worker_seen_s": 1.0} | counts)
        )

    def counts(self, _connection: sa.Connection) -> QueueCounts:
        return self._counts


class Refusing:
    """A driver whose check fails."""

    def __init__(self, error: DriverError) -> None:
        self._error = error

    def check(self) -> None:
        raise self._error


class TestExamination:
    def test_the_tests_service_is_well_but_for_its_worker(self, patient: Patient) -> None:
        failed = {told.check for told in examine(patient) if told.finding.level == Level.FAILURE}
        assert failed <= {"worker", "files", "disk"}

    def test_without_a_database_every_other_check_is_made(self, patient: Patient) -> None:
        engine = sa.create_engine(NOWHERE, poolclass=sa.NullPool, connect_args={"connect_timeout": 2})
        found = list(examine(dataclasses.replace(patient, engine=engine)))
        assert {told.check for told in found} == set(CHECKS)
        down = {told.check for told in found if "cannot be asked" in told.finding.seen}
        assert down == {"database", "migrations", "connections", "clock", "keys", "worker"}

    def test_a_check_that_breaks_tells_only_the_kind_of_its_error(self, patient: Patient) -> None:
        class Bomb:
            def reach(self) -> bool:
                raise ValueError("redis://:hush-hush@host")

        (told,) = [one for one in examine(dataclasses.replace(patient, rates=Bomb())) if one.check == "redis"]
        assert (told.finding.level, told.finding.seen) == (Level.FAILURE, "This could not be looked at (ValueError)")


class TestStores:
    def test_a_database_without_schema_and_an_older_one_are_failures(self, patient: Patient, tmp_path: Path) -> None:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/empty.db", poolclass=sa.NullPool)
        assert worst(look(stores.migrations, patient, engine=engine)) == (Level.FAILURE, "The database has no schema")
        self._at(engine, "0001")
        level, seen = worst(look(stores.migrations, patient, engine=engine))
        assert (level, seen.partition(",")[0]) == (Level.FAILURE, "The schema is at 0001")

    def test_a_newer_schema_is_a_warning(self, patient: Patient, tmp_path: Path) -> None:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/newer.db", poolclass=sa.NullPool)
        self._at(engine, "9999")
        assert worst(look(stores.migrations, patient, engine=engine))[0] == Level.WARNING

    def test_a_clock_that_differs_is_told(self, patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
        if patient.engine.dialect.name == "sqlite":
            pytest.skip("one clock")
        real = stores.time.time
        for ahead_s, level in ((0, Level.OK), (5, Level.WARNING), (60, Level.FAILURE)):
            monkeypatch.setattr(stores.time, "time", lambda ahead_s=ahead_s: real() + ahead_s)
            assert worst(look(stores.clock, patient))[0] == level

    def test_more_connections_than_postgresql_takes_are_a_warning(self, patient: Patient) -> None:
        if patient.engine.dialect.name == "sqlite":
            pytest.skip("no limit")
        server = dataclasses.replace(patient.settings.server, web_concurrency=64)
        many = dataclasses.replace(patient.settings, server=server)
        assert worst(look(stores.connections, patient, settings=many))[0] == Level.WARNING
        few = dataclasses.replace(patient.settings, server=dataclasses.replace(server, web_concurrency=1))
        assert worst(look(stores.connections, patient, settings=few))[0] == Level.OK

    def test_connections_are_counted_as_the_deployment_guide_counts_them(self, patient: Patient) -> None:
        if patient.engine.dialect.name == "sqlite":
            pytest.skip("no limit")
        (found,) = look(stores.connections, patient)
        assert "A web node may open 88 connections and a worker 17;" in found.seen

    def test_a_redis_that_does_not_answer_is_a_failure_and_none_is_not(self, patient: Patient) -> None:
        gone = RateCounter(redis_url="redis://:hush-hush@127.0.0.1:9/0")
        level, seen = worst(look(stores.redis, patient, rates=gone))
        assert level == Level.FAILURE
        assert "hush" not in seen
        assert worst(look(stores.redis, patient, rates=RateCounter()))[0] == Level.OK

    def test_a_store_that_cannot_be_written_is_a_failure(self, patient: Patient, tmp_path: Path) -> None:
        (tmp_path / "media").write_text("a file where a folder should be")
        broken = with_driver(patient, "storage", LocalStore(tmp_path / "media"))
        assert worst(look(stores.storage, broken))[0] == Level.FAILURE
        assert worst(look(stores.storage, patient))[0] == Level.OK

    def test_sqlite_in_production_is_a_warning(self, patient: Patient, tmp_path: Path) -> None:
        found = look(stores.database, patient, settings=settings(tmp_path, **PRODUCTION))
        assert worst(found)[0] == (Level.WARNING if patient.engine.dialect.name == "sqlite" else Level.OK)

    def _at(self, engine: sa.Engine, revision: str) -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)")
            connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{revision}')")


class TestService:
    @pytest.mark.parametrize(
        ("counts", "level", "word"),
        [
            ({}, Level.OK, ""),
            ({"worker_seen_s": None}, Level.FAILURE, "never"),
            ({"worker_seen_s": 61.0}, Level.FAILURE, "61 s ago"),
            ({"lag_s": 61.0}, Level.WARNING, "due for 61 s"),
            ({"lag_s": 601.0}, Level.FAILURE, "due for 601 s"),
            ({"dead": 2}, Level.WARNING, "2 jobs have failed"),
        ],
    )
    def test_the_worker_and_its_queue(self, patient: Patient, counts: dict[str, Any], level: Level, word: str) -> None:
        told = worst(look(service.worker, with_driver(patient, "jobs", Queue(**counts))))
        assert told[0] == level
        assert word in told[1]

    def test_a_worker_that_runs_is_seen_by_its_engine(self, patient: Patient, world: World) -> None:
        world.work_off()
        with patient.engine.connect() as connection:
            seen_s = patient.jobs.counts(connection).worker_seen_s
        assert seen_s is None or -1 <= seen_s < 600

    @pytest.fixture
    def sealed(self, world: World) -> Iterator[str]:
        """A credential under the service's key; its id."""
        me = world.person()
        with world.app.app_context():
            row = GitCredential(user_id=me.id, provider=Provider.GITHUB)
            db.session.add(row)
            db.session.flush()
            ring = world.app.extensions.get("keyring") or service.Keyring(
                world.app.config["SETTINGS"].security.encryption_keys
            )
            row.access_token_secret = sealing.seal(ring, row.id, sealing.ACCESS, "a-token-of-somebody")
            db.session.commit()
            made = row.id
        yield made
        with world.app.app_context():
            db.session.execute(sa.delete(GitCredential).where(GitCredential.id == made))
            db.session.commit()

    @pytest.mark.usefixtures("sealed")
    def test_credentials_that_cannot_be_opened_are_a_failure(self, patient: Patient) -> None:
        assert worst(look(service.keys, patient))[0] == Level.OK
        other = dataclasses.replace(patient.settings.security, encryption_keys=(("other", os.urandom(32)),))
        changed = dataclasses.replace(patient.settings, security=other)
        assert worst(look(service.keys, patient, settings=changed))[0] == Level.FAILURE

    @pytest.mark.usefixtures("sealed")
    def test_secrets_under_an_older_key_are_a_warning(self, patient: Patient) -> None:
        before = patient.settings.security
        ring = (("newer", os.urandom(32)), *before.encryption_keys)
        changed = dataclasses.replace(patient.settings, security=dataclasses.replace(before, encryption_keys=ring))
        assert worst(look(service.keys, patient, settings=changed))[0] == Level.WARNING

    def test_a_relay_that_cannot_be_reached_is_a_failure(self, patient: Patient) -> None:
        relay = SmtpMail("smtp://me:hush-hush@127.0.0.1:9", sender="a@galley.test", timeout_s=2)
        level, seen = worst(look(service.mail, with_driver(patient, "mail", relay)))
        assert level == Level.FAILURE
        assert "hush" not in seen

    def test_mail_that_is_only_printed_is_a_warning(self, patient: Patient, tmp_path: Path) -> None:
        assert worst(look(service.mail, patient, settings=settings(tmp_path)))[0] == Level.WARNING


class TestSetup:
    @pytest.mark.parametrize(
        ("given", "lacking"),
        [
            ({"GITHUB_APP_ID": "1"}, "GITHUB_APP_SLUG"),
            ({"GITLAB_CLIENT_ID": "id", "GITLAB_CLIENT_SECRET": "hush-hush"}, "GITLAB_WEBHOOK_SECRET"),
            ({"SOCIAL_A_CLIENT_ID": "id"}, "SOCIAL_A_CLIENT_SECRET"),
            ({"SOCIAL_B_CLIENT_SECRET": "hush-hush"}, "SOCIAL_B_CLIENT_ID"),
            ({"AI_PROVIDER": "openai"}, "AI_MODEL"),
        ],
    )
    def test_a_provider_by_halves_is_a_warning(
        self, patient: Patient, tmp_path: Path, given: dict[str, str], lacking: str
    ) -> None:
        level, seen = worst(look(setup.providers, patient, settings=settings(tmp_path, **given)))
        assert level == Level.WARNING
        assert lacking in seen
        assert "hush" not in seen

    def test_a_complete_setup_is_well(self, patient: Patient, tmp_path: Path) -> None:
        assert worst(look(setup.providers, patient, settings=settings(tmp_path)))[0] == Level.OK
        assert worst(look(setup.production, patient, settings=settings(tmp_path, **PRODUCTION)))[0] == Level.OK

    @pytest.mark.parametrize(
        ("given", "level"),
        [
            ({"BASE_URL": "http://galley.test"}, Level.FAILURE),
            ({"ALLOWED_ORIGINS": "http://galley.test"}, Level.FAILURE),
            ({"TRUSTED_HOPS": "0"}, Level.WARNING),
            ({"METRICS_TOKEN": "short"}, Level.WARNING),
            ({"LOG_FORMAT": "console"}, Level.WARNING),
            ({"LOG_LEVEL": "DEBUG"}, Level.WARNING),
            ({"APP_ENV": "development"}, Level.WARNING),
        ],
    )
    def test_what_production_should_not_do(
        self, patient: Patient, tmp_path: Path, given: dict[str, str], level: Level
    ) -> None:
        assert worst(look(setup.production, patient, settings=settings(tmp_path, **PRODUCTION | given)))[0] == level


class Usage(NamedTuple):
    """What `shutil.disk_usage` answers."""

    total: int
    used: int
    free: int


class TestMachine:
    def test_no_git_is_a_failure_and_an_old_one_a_warning(
        self, patient: Patient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert worst(look(machine.git, patient))[0] == Level.FAILURE
        old = tmp_path / "git"
        old.write_text("#!/bin/sh\necho git version 2.25.1\n")
        old.chmod(0o755)
        level, seen = worst(look(machine.git, patient))
        assert (level, seen) == (Level.WARNING, "Git 2.25.1 is older than 2.36")

    def test_sandboxes_that_cannot_be_confined_are_a_warning(self, patient: Patient) -> None:
        refusing = Refusing(SandboxUnavailable("This machine does not allow bubblewrap to confine previews"))
        assert worst(look(machine.previews, with_driver(patient, "sandbox", refusing)))[0] == Level.WARNING

    @pytest.mark.parametrize(
        ("free", "level"), [(1 << 20, Level.FAILURE), (1 << 30, Level.WARNING), (1 << 40, Level.OK)]
    )
    def test_room_on_the_disk(self, patient: Patient, monkeypatch: pytest.MonkeyPatch, free: int, level: Level) -> None:
        monkeypatch.setattr(machine.shutil, "disk_usage", lambda _place: Usage(1 << 42, 0, free))
        assert worst(look(machine.disk, patient))[0] == level

    @pytest.mark.parametrize(("soft", "level"), [(256, Level.FAILURE), (1024, Level.WARNING), (65_536, Level.OK)])
    def test_open_files(self, patient: Patient, monkeypatch: pytest.MonkeyPatch, soft: int, level: Level) -> None:
        monkeypatch.setattr(machine.resource, "getrlimit", lambda _which: (soft, resource.RLIM_INFINITY))
        assert worst(look(machine.files, patient))[0] == level


class TestCommand:
    def test_it_prints_a_line_a_finding_and_exits_1_when_something_fails(self, app: Flask) -> None:
        done = app.test_cli_runner().invoke(args=["doctor"])
        levels = {line.split()[0] for line in done.output.splitlines()}
        assert levels <= set(Level)
        assert done.exit_code == (1 if Level.FAILURE in levels else 0)
        assert len(done.output.splitlines()) >= len(CHECKS)

    def test_as_json_it_tells_the_same_and_no_secret(self, app: Flask) -> None:
        done = app.test_cli_runner().invoke(args=["doctor", "--json"])
        told = json.loads(done.output)
        assert {one["check"] for one in told} == set(CHECKS)
        assert {"check", "level", "seen", "advice"} == set(told[0])
        config: Settings = app.config["SETTINGS"]
        assert config.security.secret_key not in done.output
        assert base64.b64encode(config.security.encryption_keys[0][1]).decode() not in done.output
