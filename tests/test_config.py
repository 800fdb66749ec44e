"""Tests of the settings in the environment."""

import base64
import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from app.settings.fields import Url
from app.settings.groups import PROJECT
from app.settings.stores import DatabaseUrlField
from app.settings.variables import Environment
from config import ConfigError, Settings

KEY = base64.b64encode(os.urandom(32)).decode()
PRODUCTION = {
    "APP_ENV": "production",
    "BASE_URL": "https://cms.example.org",
    "PREVIEW_HOST": "previews.example.net",
    "SECRET_KEY": "Zt0v4pTn8mQx2Lr6Ks1Wd9Hy5Gb3Fc7Ja",
    "ENCRYPTION_KEYS": f"2026:{KEY}",
    "MAIL_DRIVER": "smtp",
    "SMTP_URL": "smtp://relay.example.org:587",
    "DATABASE_URL": "postgresql+psycopg://galley:hunter2@db/galley",
}


WITH_CREDENTIALS = (
    "https://wilma:hunter2@host.example.org/path?token=hunter3",
    "https://host.example.org/path?token=hunter3",
    "https://hunter1@host.example.org",
    "wilma:hunter2@host.example.org",
    "//wilma:hunter2@host.example.org",
    "postgresql://wilma:hunter2@host/name?password=hunter3",
    "mysql://wilma:hunter2@host/name",
    "redis://:hunter2@host/0",
    "unix:///socket?password=hunter3",
    "http://[wilma:hunter2@host",
    "https://wilma:hunter2@host:99999/",
    "https://wilma:hunter/2@host",
    "https://a.example.org, https://wilma:hunter2@b.example.org",
)


class TestDefaults:
    def test_defaults_are_embedded(self, tmp_path: Path) -> None:
        settings = Settings.from_environment({"INSTANCE_DIR": str(tmp_path / "instance")})
        assert settings.env == "development"
        assert settings.database.url == f"sqlite:///{tmp_path}/instance/app.db"
        assert (settings.storage.driver, settings.mail.driver) == ("local", "console")
        assert (settings.sandbox.driver, settings.billing.driver) == ("local", "none")
        assert settings.git.local_enabled
        assert settings.git.local_root == tmp_path / "instance" / "git"
        assert settings.redis_url is None

    def test_default_urls_follow_host_and_port(self, tmp_path: Path) -> None:
        server = Settings.for_tests(tmp_path, HOST="0.0.0.0", PORT=9001).server  # noqa: S104
        assert (server.base_url, server.web_url) == ("http://127.0.0.1:9001", "http://127.0.0.1:9001")
        assert server.allowed_origins == ("http://127.0.0.1:9001",)

    def test_default_origins_are_both_urls(self, tmp_path: Path) -> None:
        server = Settings.for_tests(
            tmp_path, BASE_URL="https://API.example.org:443/", WEB_URL="https://cms.org/app"
        ).server
        assert server.allowed_origins == ("https://api.example.org", "https://cms.org")

    def test_url_without_valid_origin_is_not_allowed(self, tmp_path: Path) -> None:
        server = Settings.for_tests(tmp_path, BASE_URL="https://api.example.org", WEB_URL="https://me@cms.org").server
        assert server.allowed_origins == ("https://api.example.org",)

    def test_relative_instance_folder_starts_at_the_project(self) -> None:
        script = "from config import Settings; print(Settings.from_environment({}).server.instance_dir)"
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        environment.pop("INSTANCE_DIR", None)
        done = subprocess.run(
            [sys.executable, "-c", script], cwd="/", env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.stdout.strip() == str(PROJECT / "instance"), done.stderr

    def test_creation_limits_can_be_set(self, tmp_path: Path) -> None:
        limits = Settings.for_tests(tmp_path, LIMIT_PROJECTS=7).limits
        assert (limits.organizations, limits.projects, limits.projects_per_organization, limits.members) == (
            10,
            7,
            25,
            50,
        )
        assert limits.codes.otp_attempts == 5

    def test_settings_are_frozen(self, tmp_path: Path) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            Settings.for_tests(tmp_path).server.port = 1  # type: ignore[misc]

    def test_empty_variable_is_not_set(self, tmp_path: Path) -> None:
        assert Settings.for_tests(tmp_path, REDIS_URL="", PORT=" ").server.port == 8000


class TestFaults:
    def test_invalid_settings_are_all_named_in_one_message(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as refused:
            Settings.for_tests(
                tmp_path,
                APP_ENV="staging",
                APP_COLOUR="red",
                PORT="eighty",
                DATABASE_URL="mysql://x",
                STORAGE_DRIVER="s3",
                ENCRYPTION_KEYS="a:b",
            )
        lines = str(refused.value).splitlines()
        names = [line.strip().partition(":")[0] for line in lines[1:]]
        assert names == ["APP_COLOUR", "APP_ENV", "DATABASE_URL", "ENCRYPTION_KEYS", "PORT", "S3_BUCKET"]

    def test_unknown_app_variable_is_refused(self, tmp_path: Path) -> None:
        Settings.for_tests(tmp_path, SOMETHING_ELSE="x")
        with pytest.raises(ConfigError, match="APP_DEBUG"):
            Settings.for_tests(tmp_path, APP_DEBUG="1")

    def test_message_contains_no_secret(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as refused:
            Settings.for_tests(tmp_path, ENCRYPTION_KEYS="k1:c2VjcmV0", SMTP_URL="http://u:hunter2@x")
        assert "c2VjcmV0" not in str(refused.value)
        assert "hunter2" not in str(refused.value)

    def test_unusable_instance_folder_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(ConfigError, match="INSTANCE_DIR"):
            Settings.for_tests(tmp_path / "file" / "instance")


class TestProduction:
    def test_complete_production_environment_is_accepted(self) -> None:
        settings = Settings.from_environment(PRODUCTION)
        assert settings.is_production
        assert not settings.git.local_enabled

    def test_local_repositories_in_production_can_be_enabled(self) -> None:
        assert Settings.from_environment(PRODUCTION | {"GIT_LOCAL": "on"}).git.local_enabled

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("SECRET_KEY", ""),
            ("SECRET_KEY", "short"),
            ("SECRET_KEY", "change-me-change-me-change-me-change-me"),
            ("SECRET_KEY", "x" * 64),
            ("SECRET_KEY", "kT9" * 16),
            ("ENCRYPTION_KEYS", ""),
            ("ENCRYPTION_KEYS", "k1:" + base64.b64encode(bytes(32)).decode()),
            ("MAIL_DRIVER", "console"),
            ("MAIL_DRIVER", ""),
            ("RATE_LIMIT_SCALE", "1000"),
            ("RATE_LIMIT_SCALE", "0.5"),
            ("BASE_URL", ""),
            ("BASE_URL", "http://cms.example.org"),
            ("BASE_URL", "http://10.0.0.8:8000"),
            ("WEB_URL", "http://app.example.org"),
            ("GITHUB_WEBHOOK_SECRET", "x"),
            ("GITLAB_WEBHOOK_SECRET", "wq9f0vK2mX7pL4cR,y"),
            ("PADDLE_WEBHOOK_SECRET", "x" * 40),
            ("PREVIEW_HOST", "previews.example.org"),
            ("PREVIEW_HOST", "cms.example.org"),
            ("PREVIEW_HOST", "cms.example.org:8443"),
            ("PREVIEW_HOST", "example.org"),
            ("PREVIEW_HOST", "a.b.cms.example.org"),
            ("SANDBOX_DOMAIN", "microvm.example.org"),
        ],
    )
    def test_unsafe_value_is_refused(self, variable: str, value: str) -> None:
        with pytest.raises(ConfigError, match=variable):
            Settings.from_environment(PRODUCTION | {variable: value})

    @pytest.mark.parametrize("name", ["PREVIEW_HOST", "SANDBOX_DOMAIN"])
    @pytest.mark.parametrize(
        ("variable", "value", "previews"),
        [
            ("BASE_URL", "https://cms.example.co.uk", "previews.example.co.uk"),
            ("WEB_URL", "https://app.example.net", "x.example.net"),
            ("WEB_URL", "https://app.example.net", "example.net"),
            ("WEB_URL", "https://APP.example.net.:8443/path", "x.example.net"),
            ("WEB_URL", "https://app.bücher.example", "previews.xn--bcher-kva.example"),
            ("ALLOWED_ORIGINS", "https://cms.example.org,https://editor.example.net", "x.example.net"),
            ("ALLOWED_ORIGINS", "https://x.example.net", "x.example.net"),
        ],
    )
    def test_previews_on_the_site_of_an_application_are_refused(
        self, name: str, variable: str, value: str, previews: str
    ) -> None:
        with pytest.raises(ConfigError, match=f"{name}: Must not be on the site of .*{variable}"):
            Settings.from_environment(PRODUCTION | {"PREVIEW_HOST": "y.example.com", variable: value, name: previews})

    @pytest.mark.parametrize(
        "environment",
        [
            {"BASE_URL": "http://127.0.0.1:8080", "PREVIEW_HOST": "preview.localhost"},
            {"BASE_URL": "https://cms.example.co.uk", "PREVIEW_HOST": "previews.example2.co.uk"},
            {"BASE_URL": "https://me.github.io", "PREVIEW_HOST": "other.github.io"},
            {"BASE_URL": "https://192.0.2.7", "PREVIEW_HOST": "192.0.2.8"},
            {"WEB_URL": "https://web.example.com", "ALLOWED_ORIGINS": "https://web.example.com"},
            {"GITHUB_WEBHOOK_SECRET": "wq9f0vK2mX7pL4cR, pL4cRwq9f0vK2mX7"},
        ],
        ids=[
            "loopback",
            "public suffix of two labels",
            "private suffix",
            "addresses",
            "other web site",
            "two webhook secrets",
        ],
    )
    def test_safe_value_is_accepted(self, environment: dict[str, str]) -> None:
        assert Settings.from_environment(PRODUCTION | environment).is_production

    def test_complete_configuration_writes_no_file(self, tmp_path: Path) -> None:
        Settings.from_environment(PRODUCTION | {"INSTANCE_DIR": str(tmp_path / "instance")})
        assert list(tmp_path.iterdir()) == []


class TestInstanceSecrets:
    def test_generated_secrets_are_stored(self, tmp_path: Path) -> None:
        assert Settings.for_tests(tmp_path).security == Settings.for_tests(tmp_path).security

    def test_instances_have_different_secrets(self, tmp_path: Path) -> None:
        first, second = Settings.for_tests(tmp_path / "a").security, Settings.for_tests(tmp_path / "b").security
        assert first.secret_key != second.secret_key
        assert first.encryption_keys != second.encryption_keys

    def test_configured_secrets_are_not_stored(self, tmp_path: Path) -> None:
        security = Settings.for_tests(tmp_path, SECRET_KEY="mine", ENCRYPTION_KEYS=f"new:{KEY}").security
        assert security.secret_key == "mine"
        assert security.encryption_keys == (("new", base64.b64decode(KEY)),)
        assert list(tmp_path.iterdir()) == []


class TestDotEnv:
    SCRIPT = "from config import Settings; s = Settings.from_environment(); print(s.server.port, s.server.web_url)"

    def test_process_environment_overrides_the_file(self, tmp_path: Path) -> None:
        # Use a copy, so that the .env of the checkout is neither read nor written.
        shutil.copy(PROJECT / "config.py", tmp_path)
        shutil.copytree(PROJECT / "app", tmp_path / "app")
        (tmp_path / ".env").write_text("PORT=7001\nWEB_URL=https://cms.example.org\n")
        environment = {"PATH": os.environ["PATH"], "PORT": "7002", "INSTANCE_DIR": str(tmp_path / "instance")}
        done = subprocess.run(
            [sys.executable, "-c", self.SCRIPT],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout == "7002 https://cms.example.org\n", done.stderr


class TestMasked:
    def test_secrets_and_passwords_in_urls_are_masked(self) -> None:
        shown = Settings.from_environment(PRODUCTION | {"GITHUB_WEBHOOK_SECRET": "hook-1-wq9f0vK2mX7"}).masked()
        assert shown["security.secret_key"] == shown["github.webhook_secret"] == "********"
        assert shown["database.url"] == "postgresql+psycopg://********@db/galley"
        assert shown["gitlab.webhook_secret"] == "(not set)"
        assert not {KEY, "hunter2", "hook-1-wq9f0vK2mX7", PRODUCTION["SECRET_KEY"]} & {
            part for text in shown.values() for part in text.replace("@", " ").replace(":", " ").split()
        }

    @pytest.mark.parametrize(
        "variable",
        [name for name, field in Environment().fields.items() if isinstance(field, Url | DatabaseUrlField)],
    )
    def test_user_info_and_query_of_a_url_are_masked(self, tmp_path: Path, variable: str) -> None:
        field = Environment().fields[variable]
        scheme = "postgresql" if isinstance(field, DatabaseUrlField) else cast("Url", field).schemes[0]
        settings = Settings.for_tests(
            tmp_path, **{variable: f"{scheme}://wilma:hunter2@host.example.org/x?key=hunter3"}
        )
        shown = settings.masked()[str(field.attribute)]
        assert shown.endswith("://********@host.example.org/x?********")
        assert not {"wilma", "hunter2", "hunter3"} & set(re.split(r"\W", "".join(settings.masked().values())))

    @pytest.mark.parametrize("variable", Environment().fields)
    @pytest.mark.parametrize("value", WITH_CREDENTIALS)
    def test_credentials_in_any_variable_are_neither_shown_nor_reported(
        self, tmp_path: Path, variable: str, value: str
    ) -> None:
        """A variable may contain a value that was meant for another one."""
        environment = PRODUCTION | {"APP_ENV": "test", "INSTANCE_DIR": str(tmp_path), variable: value}
        try:
            settings = Settings.from_environment(environment)
            text = repr(settings) + "".join(settings.masked().values())
        except ConfigError as error:
            text = str(error)
        assert "hunter" not in text

    def test_secrets_are_all_masked(self) -> None:
        secrets = {str(field.attribute) for field in Environment().fields.values() if field.metadata["secret"]}
        values = {"security.encryption_keys": (("k1", b"x"),)}
        settings = Settings.from_environment(PRODUCTION)
        for name in secrets:
            settings = _with_value(settings, name.split("."), values.get(name, "hunter2"))
        masked = settings.masked()
        assert {name for name, text in masked.items() if text == "********"} == secrets
        assert "hunter2" not in repr(settings)

    def test_other_values_are_shown(self, tmp_path: Path) -> None:
        shown = Settings.for_tests(tmp_path, PORT=8123, ALLOWED_ORIGINS="https://a.org,https://b.org").masked()
        assert shown["server.port"] == "8123"
        assert shown["server.allowed_origins"] == "https://a.org, https://b.org"
        assert shown["limits.sandbox.lifetime_s"] == "600"

    def test_repr_contains_no_secret(self) -> None:
        settings = Settings.from_environment(PRODUCTION)
        assert PRODUCTION["SECRET_KEY"] not in repr(settings)
        assert "hunter2" not in repr(settings)


def _with_value(group: Any, names: list[str], value: object) -> Any:
    if len(names) > 1:
        value = _with_value(getattr(group, names[0]), names[1:], value)
    return dataclasses.replace(group, **{names[0]: value})


class TestWebhookSecrets:
    def test_two_live_secrets_are_separated_by_a_comma(self, tmp_path: Path) -> None:
        github = Settings.for_tests(tmp_path, GITHUB_WEBHOOK_SECRET="new, old").github
        assert github.webhook_secrets == ("new", "old")

    def test_webhook_secrets_without_configuration_are_empty(self, tmp_path: Path) -> None:
        assert Settings.for_tests(tmp_path).gitlab.webhook_secrets == ()
