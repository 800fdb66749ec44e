"""Tests of `flask doctor`: each check reports its fault and no secret."""

import base64
import dataclasses
import json
import os
import re
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from flask import Flask

from app.cli.doctor import CHECKS, run_checks
from app.doctor import host_checks, service_checks, settings_checks, store_checks
from app.doctor.findings import Deployment, Finding, Severity
from app.drivers.errors import DriverError
from app.drivers.jobs.port import QueueCounts
from app.drivers.mail.smtp import SmtpMail
from app.drivers.sandbox.port import SandboxUnavailable
from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.models.git_credential import GitCredential
from app.models.login import Passkey
from app.models.project import Provider
from app.rate_limiting.counter import RateCounter
from app.resources.git_provider import token_encryption
from app.settings.groups import PROJECT
from config import Settings
from tests.support import factories
from tests.support.authenticator import Authenticator
from tests.support.world import World

MIGRATIONS = str(PROJECT / "migrations")
NOWHERE = "postgresql+psycopg://nobody:hush-hush@127.0.0.1:9/none"
KEY = base64.b64encode(os.urandom(32)).decode()
PRODUCTION = {
    "APP_ENV": "production",
    "SECRET_KEY": "Zt0v4pTn8mQx2Lr6Ks1Wd9Hy5Gb3Fc7Ja",
    "ENCRYPTION_KEYS": f"k1:{KEY}",
    "MAIL_DRIVER": "file",
    "BASE_URL": "https://galley.test",
    "TRUSTED_HOPS": "1",
    "LOG_FORMAT": "json",
}


@pytest.fixture
def deployment(app: Flask) -> Deployment:
    """Return the deployment of the test application. Only its worker is missing."""
    extensions = app.extensions
    with app.app_context():
        return Deployment(app.config["SETTINGS"], db.engine, extensions["drivers"], extensions["rates"], MIGRATIONS)


def settings(home: Path, **environment: str) -> Settings:
    return Settings.from_environment({"INSTANCE_DIR": str(home), **environment})


def findings_of(check: Any, deployment: Deployment, **changed: Any) -> list[Finding]:
    return list(check(dataclasses.replace(deployment, **changed)))


def worst(findings: list[Finding]) -> tuple[Severity, str]:
    order = [Severity.OK, Severity.WARNING, Severity.FAILURE]
    finding = max(findings, key=lambda one: order.index(one.level))
    assert finding.level == Severity.OK or finding.advice
    return finding.level, finding.observed


def with_driver(deployment: Deployment, kind: str, driver: object) -> Deployment:
    return dataclasses.replace(deployment, drivers=dataclasses.replace(deployment.drivers, **{kind: driver}))


class Queue:
    """A job engine with fixed counts."""

    def __init__(self, **counts: Any) -> None:
        self._counts = QueueCounts(
            **({"waiting": 0, "running": 0, "dead": 0, "lag_s": 0.0, "heartbeat_age_s": 1.0} | counts)
        )

    def counts(self, _connection: sa.Connection) -> QueueCounts:
        return self._counts


class FailingDriver:
    """A driver with a failing check."""

    def __init__(self, error: DriverError) -> None:
        self._error = error

    def check(self) -> None:
        raise self._error


class TestExamination:
    def test_checks_of_the_test_service_report_only_the_worker(self, deployment: Deployment) -> None:
        failed = {result.check for result in run_checks(deployment) if result.finding.level == Severity.FAILURE}
        assert failed <= {"worker", "files", "disk", "repositories"}  # Other tests damage repositories.

    def test_checks_without_a_database_still_run(self, deployment: Deployment) -> None:
        engine = sa.create_engine(NOWHERE, poolclass=sa.NullPool, connect_args={"connect_timeout": 2})
        findings = list(run_checks(dataclasses.replace(deployment, engine=engine)))
        assert {result.check for result in findings} == set(CHECKS)
        down = {result.check for result in findings if "cannot be queried" in result.finding.observed}
        assert down == {"database", "migrations", "connections", "clock", "keys", "passkeys", "worker", "repositories"}

    def test_raising_check_reports_the_exception_type_only(self, deployment: Deployment) -> None:
        class Bomb:
            def ping(self) -> bool:
                raise ValueError("redis://:hush-hush@host")

        (result,) = [one for one in run_checks(dataclasses.replace(deployment, rates=Bomb())) if one.check == "redis"]
        assert (result.finding.level, result.finding.observed) == (
            Severity.FAILURE,
            "This check failed (ValueError)",
        )


class TestStores:
    def test_missing_or_older_schema_is_a_failure(self, deployment: Deployment, tmp_path: Path) -> None:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/empty.db", poolclass=sa.NullPool)
        assert worst(findings_of(store_checks.migrations, deployment, engine=engine)) == (
            Severity.FAILURE,
            "The database has no schema",
        )
        self._at(engine, "0001")
        level, observed = worst(findings_of(store_checks.migrations, deployment, engine=engine))
        assert (level, observed.partition(",")[0]) == (Severity.FAILURE, "The schema is at 0001")

    def test_newer_schema_is_a_warning(self, deployment: Deployment, tmp_path: Path) -> None:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/newer.db", poolclass=sa.NullPool)
        self._at(engine, "9999")
        assert worst(findings_of(store_checks.migrations, deployment, engine=engine))[0] == Severity.WARNING

    def test_damaged_branches_and_files_are_failures(self, deployment: Deployment, world: World) -> None:
        owner = world.person()
        organization = owner.new_organization()
        (lost, repo), (incomplete, other) = (factories.repository(world, {"a.md": b"%d" % n}) for n in range(2))
        project = owner.new_project(organization, incomplete)
        for damaged, name in ((repo, "main"), (other, "main:a.md")):
            sha = damaged.text("rev-parse", name)
            (damaged.folder / "objects" / sha[:2] / sha[2:]).unlink()
        world.work_off()
        observed = [finding.observed for finding in findings_of(host_checks.repositories, deployment)]
        assert any(f"{lost} (main)" in text for text in observed)
        assert any(f"{project} (main)" in text for text in observed)

    def test_clock_difference_is_reported(self, deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
        if deployment.engine.dialect.name == "sqlite":
            pytest.skip("one clock")
        real = store_checks.time.time
        for ahead_s, level in ((0, Severity.OK), (5, Severity.WARNING), (60, Severity.FAILURE)):
            monkeypatch.setattr(store_checks.time, "time", lambda ahead_s=ahead_s: real() + ahead_s)
            assert worst(findings_of(store_checks.clock, deployment))[0] == level

    def test_connections_above_the_limit_are_a_warning(self, deployment: Deployment) -> None:
        if deployment.engine.dialect.name == "sqlite":
            pytest.skip("no limit")
        server = dataclasses.replace(deployment.settings.server, web_concurrency=64)
        many = dataclasses.replace(deployment.settings, server=server)
        assert worst(findings_of(store_checks.connections, deployment, settings=many))[0] == Severity.WARNING
        few = dataclasses.replace(deployment.settings, server=dataclasses.replace(server, web_concurrency=1))
        assert worst(findings_of(store_checks.connections, deployment, settings=few))[0] == Severity.OK

    def test_connections_equal_the_deployment_guide(self, deployment: Deployment) -> None:
        if deployment.engine.dialect.name == "sqlite":
            pytest.skip("no limit")
        (finding,) = findings_of(store_checks.connections, deployment)
        assert "A web node can open 48 connections and a worker 22;" in finding.observed

    def test_unreachable_redis_is_a_failure(self, deployment: Deployment) -> None:
        gone = RateCounter(redis_url="redis://:hush-hush@127.0.0.1:9/0")
        level, observed = worst(findings_of(store_checks.redis, deployment, rates=gone))
        assert level == Severity.FAILURE
        assert "hush" not in observed
        assert worst(findings_of(store_checks.redis, deployment, rates=RateCounter()))[0] == Severity.OK

    def test_unwritable_store_is_a_failure(self, deployment: Deployment, tmp_path: Path) -> None:
        (tmp_path / "media").write_text("a file where a folder should be")
        broken = with_driver(deployment, "storage", LocalStore(tmp_path / "media"))
        assert worst(findings_of(store_checks.storage, broken))[0] == Severity.FAILURE
        assert worst(findings_of(store_checks.storage, deployment))[0] == Severity.OK

    def test_sqlite_in_production_is_a_warning(self, deployment: Deployment, tmp_path: Path) -> None:
        findings = findings_of(store_checks.database, deployment, settings=settings(tmp_path, **PRODUCTION))
        assert worst(findings)[0] == (Severity.WARNING if deployment.engine.dialect.name == "sqlite" else Severity.OK)

    def _at(self, engine: sa.Engine, revision: str) -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)")
            connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{revision}')")


class TestService:
    @pytest.mark.parametrize(
        ("counts", "level", "word"),
        [
            ({}, Severity.OK, ""),
            ({"heartbeat_age_s": None}, Severity.FAILURE, "never"),
            ({"heartbeat_age_s": 61.0}, Severity.FAILURE, "61 s ago"),
            ({"lag_s": 61.0}, Severity.WARNING, "late by 61 s"),
            ({"lag_s": 601.0}, Severity.FAILURE, "late by 601 s"),
            ({"dead": 2}, Severity.WARNING, "2 jobs have failed"),
            ({"failed": 2}, Severity.WARNING, "2 periodic jobs failed"),
        ],
    )
    def test_worker_check_reports_heartbeat_and_queue(
        self, deployment: Deployment, counts: dict[str, Any], level: Severity, word: str
    ) -> None:
        result = worst(findings_of(service_checks.worker, with_driver(deployment, "jobs", Queue(**counts))))
        assert result[0] == level
        assert word in result[1]

    def test_running_worker_is_reported(self, deployment: Deployment, world: World) -> None:
        world.work_off()
        with deployment.engine.connect() as connection:
            seen_s = deployment.jobs.counts(connection).heartbeat_age_s
        assert seen_s is None or -1 <= seen_s < 600

    @pytest.fixture
    def sealed(self, world: World) -> Iterator[str]:
        """Store a credential that is encrypted with the key of the service. Return its id."""
        me = world.person()
        with world.app.app_context():
            row = GitCredential(user_id=me.id, provider=Provider.GITHUB)
            db.session.add(row)
            db.session.flush()
            ring = world.app.extensions.get("keyring") or service_checks.Keyring(
                world.app.config["SETTINGS"].security.encryption_keys
            )
            row.access_token_secret = token_encryption.encrypt_token(
                ring, row.id, token_encryption.ACCESS, "a-token-of-somebody"
            )
            db.session.commit()
            made = row.id
        yield made
        with world.app.app_context():
            db.session.execute(sa.delete(GitCredential).where(GitCredential.id == made))
            db.session.commit()

    @pytest.mark.usefixtures("sealed")
    def test_undecryptable_credentials_are_a_failure(self, deployment: Deployment) -> None:
        assert worst(findings_of(service_checks.keys, deployment))[0] == Severity.OK
        other = dataclasses.replace(deployment.settings.security, encryption_keys=(("other", os.urandom(32)),))
        changed = dataclasses.replace(deployment.settings, security=other)
        assert worst(findings_of(service_checks.keys, deployment, settings=changed))[0] == Severity.FAILURE

    @pytest.mark.usefixtures("sealed")
    def test_secrets_with_an_older_key_are_a_warning(self, deployment: Deployment) -> None:
        before = deployment.settings.security
        ring = (("newer", os.urandom(32)), *before.encryption_keys)
        changed = dataclasses.replace(deployment.settings, security=dataclasses.replace(before, encryption_keys=ring))
        assert worst(findings_of(service_checks.keys, deployment, settings=changed))[0] == Severity.WARNING

    @pytest.mark.parametrize(
        ("base_url", "rp_id", "level", "text"),
        [
            ("https://cms.example.org", "cms.example.org", Severity.OK, "belong to cms.example.org"),
            ("https://cms.example.org", "example.org", Severity.OK, "belong to example.org"),
            ("http://localhost:8000", "localhost", Severity.OK, "belong to localhost"),
            ("http://cms.example.org", "cms.example.org", Severity.WARNING, "HTTPS"),
            ("http://127.0.0.1:8000", "127.0.0.1", Severity.WARNING, "IP address"),
            ("https://192.0.2.7", "192.0.2.7", Severity.FAILURE, "IP address"),
            ("https://cms.example.org", "old.example.org", Severity.FAILURE, "another domain"),
            ("https://cms.example.org", "ms.example.org", Severity.FAILURE, "another domain"),
        ],
    )
    def test_passkeys_check_compares_the_domain_with_the_public_url(
        self, deployment: Deployment, base_url: str, rp_id: str, level: Severity, text: str
    ) -> None:
        server = dataclasses.replace(deployment.settings.server, base_url=base_url, passkey_rp_id=rp_id)
        changed = dataclasses.replace(deployment.settings, server=server)
        first = findings_of(service_checks.passkeys, deployment, settings=changed)[0]
        assert (first.level, text in first.observed) == (level, True)

    def test_passkeys_of_an_earlier_domain_are_counted(self, deployment: Deployment, world: World) -> None:
        me = world.person()
        options = me.get("/auth/passkey/generate-register-options").ok()
        me.post("/auth/passkey/verify-registration", {"response": Authenticator().create(options)}).ok()
        server = dataclasses.replace(deployment.settings.server, base_url="https://a.test", passkey_rp_id="a.test")
        changed = dataclasses.replace(deployment.settings, server=server)
        level, observed = worst(findings_of(service_checks.passkeys, deployment, settings=changed))
        assert level == Severity.WARNING
        assert re.match(r"[1-9]\d* passkeys belong to another domain", observed)
        with world.app.app_context():
            db.session.execute(sa.delete(Passkey))
            db.session.commit()

    def test_unreachable_mail_server_is_a_failure(self, deployment: Deployment) -> None:
        relay = SmtpMail("smtp://me:hush-hush@127.0.0.1:9", sender="a@galley.test", timeout_s=2)
        level, observed = worst(findings_of(service_checks.mail, with_driver(deployment, "mail", relay)))
        assert level == Severity.FAILURE
        assert "hush" not in observed

    def test_console_mail_is_a_warning(self, deployment: Deployment, tmp_path: Path) -> None:
        assert worst(findings_of(service_checks.mail, deployment, settings=settings(tmp_path)))[0] == Severity.WARNING


@pytest.mark.one_database
class TestSetup:
    @pytest.mark.parametrize(
        ("environment", "lacking"),
        [
            ({"GITHUB_APP_ID": "1"}, "GITHUB_APP_SLUG"),
            ({"GITLAB_CLIENT_ID": "id", "GITLAB_CLIENT_SECRET": "hush-hush"}, "GITLAB_WEBHOOK_SECRET"),
            ({"SOCIAL_A_CLIENT_ID": "id"}, "SOCIAL_A_CLIENT_SECRET"),
            ({"SOCIAL_B_CLIENT_SECRET": "hush-hush"}, "SOCIAL_B_CLIENT_ID"),
            ({"AI_PROVIDER": "openai"}, "AI_MODEL"),
        ],
    )
    def test_incomplete_provider_is_a_warning(
        self, deployment: Deployment, tmp_path: Path, environment: dict[str, str], lacking: str
    ) -> None:
        level, observed = worst(
            findings_of(settings_checks.providers, deployment, settings=settings(tmp_path, **environment))
        )
        assert level == Severity.WARNING
        assert lacking in observed
        assert "hush" not in observed

    def test_complete_providers_are_ok(self, deployment: Deployment, tmp_path: Path) -> None:
        assert worst(findings_of(settings_checks.providers, deployment, settings=settings(tmp_path)))[0] == Severity.OK
        assert (
            worst(findings_of(settings_checks.production, deployment, settings=settings(tmp_path, **PRODUCTION)))[0]
            == Severity.OK
        )

    @pytest.mark.parametrize(
        ("environment", "level"),
        [
            ({"BASE_URL": "http://127.0.0.1:8000"}, Severity.FAILURE),
            ({"ALLOWED_ORIGINS": "http://galley.test"}, Severity.FAILURE),
            ({"TRUSTED_HOPS": "0"}, Severity.WARNING),
            ({"METRICS_TOKEN": "short"}, Severity.WARNING),
            ({"LOG_FORMAT": "console"}, Severity.WARNING),
            ({"LOG_LEVEL": "DEBUG"}, Severity.WARNING),
            ({"GITLAB_URL": "https://git.example.net", "PREVIEW_HOST": "x.example.net"}, Severity.WARNING),
            ({"APP_ENV": "development"}, Severity.WARNING),
        ],
    )
    def test_unsuitable_production_value_is_reported(
        self, deployment: Deployment, tmp_path: Path, environment: dict[str, str], level: Severity
    ) -> None:
        assert (
            worst(
                findings_of(
                    settings_checks.production, deployment, settings=settings(tmp_path, **PRODUCTION | environment)
                )
            )[0]
            == level
        )


class Usage(NamedTuple):
    """A result of `shutil.disk_usage`."""

    total: int
    used: int
    free: int


@pytest.mark.one_database
class TestMachine:
    def test_missing_git_is_a_failure_and_old_git_a_warning(
        self, deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert worst(findings_of(host_checks.git, deployment))[0] == Severity.FAILURE
        old = tmp_path / "git"
        old.write_text("#!/bin/sh\necho git version 2.25.1\n")
        old.chmod(0o755)
        level, observed = worst(findings_of(host_checks.git, deployment))
        assert (level, observed) == (Severity.WARNING, "Git 2.25.1 is older than 2.36")

    def test_unusable_sandbox_driver_is_a_warning(self, deployment: Deployment) -> None:
        refusing = FailingDriver(SandboxUnavailable("The server does not permit bubblewrap to create user namespaces"))
        assert (
            worst(findings_of(host_checks.previews, with_driver(deployment, "sandbox", refusing)))[0]
            == Severity.WARNING
        )

    @pytest.mark.parametrize(
        ("free", "level"), [(1 << 20, Severity.FAILURE), (1 << 30, Severity.WARNING), (1 << 40, Severity.OK)]
    )
    def test_free_disk_space_decides_the_severity(
        self, deployment: Deployment, monkeypatch: pytest.MonkeyPatch, free: int, level: Severity
    ) -> None:
        monkeypatch.setattr(host_checks.shutil, "disk_usage", lambda _place: Usage(1 << 42, 0, free))
        assert worst(findings_of(host_checks.disk, deployment))[0] == level

    @pytest.mark.parametrize(
        ("soft", "level"), [(256, Severity.FAILURE), (1024, Severity.WARNING), (65_536, Severity.OK)]
    )
    def test_open_file_limit_decides_the_severity(
        self, deployment: Deployment, monkeypatch: pytest.MonkeyPatch, soft: int, level: Severity
    ) -> None:
        monkeypatch.setattr(host_checks.resource, "getrlimit", lambda _which: (soft, resource.RLIM_INFINITY))
        assert worst(findings_of(host_checks.files, deployment))[0] == level


class TestCommand:
    def test_command_prints_findings_and_exits_with_1_on_failure(self, app: Flask) -> None:
        done = app.test_cli_runner().invoke(args=["doctor"])
        levels = {line.split()[0] for line in done.output.splitlines()}
        assert levels <= set(Severity)
        assert done.exit_code == (1 if Severity.FAILURE in levels else 0)
        assert len(done.output.splitlines()) >= len(CHECKS)

    def test_json_output_equals_the_lines_and_contains_no_secret(self, app: Flask) -> None:
        done = app.test_cli_runner().invoke(args=["doctor", "--json"])
        result = json.loads(done.output)
        assert {one["check"] for one in result} == set(CHECKS)
        assert {"check", "level", "seen", "advice"} == set(result[0])
        config: Settings = app.config["SETTINGS"]
        assert config.security.secret_key not in done.output
        assert base64.b64encode(config.security.encryption_keys[0][1]).decode() not in done.output


class TestPermissions:
    def check(self, deployment: Deployment, home: Path, **environment: str) -> list[tuple[Severity, str]]:
        changed = settings(home, DATABASE_URL=f"sqlite:///{home}/app.db", **environment)
        engine = sa.create_engine(changed.database.url)
        found = findings_of(host_checks.permissions, deployment, settings=changed, engine=engine)
        return [(finding.level, finding.observed) for finding in found]

    def test_folders_that_other_users_can_read_are_warnings(self, deployment: Deployment) -> None:
        with tempfile.TemporaryDirectory() as folder:  # The folders of pytest are private.
            home = Path(folder) / "instance"
            (home / "storage").mkdir(parents=True)
            (home / "app.db").touch()
            for path, mode in (
                (Path(folder), 0o755),
                (home, 0o755),
                (home / "storage", 0o750),
                (home / "app.db", 0o644),
            ):
                path.chmod(mode)
            exposed = [observed for level, observed in self.check(deployment, home) if level == Severity.WARNING]
            assert exposed == [
                f"Other users of this machine can read {name}" for name in ("INSTANCE_DIR", "the database")
            ]
            home.chmod(0o700)
            assert [level for level, _ in self.check(deployment, home)] == [Severity.OK]
            for name in ("STORAGE_DIR", "MAIL_DIR", "GIT_LOCAL_ROOT"):
                (Path(folder) / name).mkdir(mode=0o755)
                environment = {name: f"{folder}/{name}", "MAIL_DRIVER": "file"}
                assert self.check(deployment, home, **environment) == [
                    (Severity.WARNING, f"Other users of this machine can read {name}")
                ]
