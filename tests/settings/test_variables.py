"""Tests of the schema of the environment."""

import dataclasses
import functools
from pathlib import Path

import pytest

from app.settings.variables import Environment
from config import ConfigError, Settings

# The variables of the documented table. They are typed in, so that the test does not depend on the schema.
DOCUMENTED = """
APP_ENV HOST PORT BASE_URL WEB_URL ALLOWED_ORIGINS INSTANCE_DIR SECRET_KEY ENCRYPTION_KEYS DATABASE_URL REDIS_URL
WEB_CONCURRENCY TRUSTED_HOPS RATE_LIMIT_SCALE STORAGE_DRIVER STORAGE_DIR S3_BUCKET S3_ENDPOINT_URL S3_REGION
S3_PUBLIC_URL MAIL_DRIVER MAIL_DIR SMTP_URL MAIL_FROM GIT_LOCAL GIT_LOCAL_ROOT GITHUB_URL GITHUB_API_URL GITHUB_APP_ID
GITHUB_APP_SLUG GITHUB_APP_CLIENT_ID GITHUB_APP_CLIENT_SECRET GITHUB_APP_PRIVATE_KEY GITHUB_WEBHOOK_SECRET GITLAB_URL
GITLAB_CLIENT_ID GITLAB_CLIENT_SECRET GITLAB_WEBHOOK_SECRET SOCIAL_A_CLIENT_ID SOCIAL_A_CLIENT_SECRET SOCIAL_A_URL
SOCIAL_A_API_URL SOCIAL_B_CLIENT_ID SOCIAL_B_CLIENT_SECRET SOCIAL_B_ISSUER GIT_BOT_NAME GIT_BOT_EMAIL GIT_COMMIT_AUTHOR
AI_PROVIDER AI_MODEL OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_API_KEY ANTHROPIC_BASE_URL GEMINI_API_KEY GEMINI_BASE_URL XAI_API_KEY
XAI_BASE_URL SANDBOX_DRIVER PREVIEW_HOST SANDBOX_EGRESS BILLING_DRIVER PADDLE_API_KEY PADDLE_API_URL
PADDLE_WEBHOOK_SECRET PADDLE_CLIENT_TOKEN LIMIT_ORGANIZATIONS LIMIT_PROJECTS LIMIT_PROJECTS_PER_ORGANIZATION
LIMIT_MEMBERS LOG_FORMAT LOG_LEVEL METRICS_TOKEN
""".split()  # noqa: SIM905 (a table to read)


class TestVariables:
    @pytest.mark.parametrize("variable", DOCUMENTED)
    def test_documented_variable_is_declared(self, variable: str) -> None:
        assert variable in Environment().fields

    def test_undocumented_variables_are_listed(self) -> None:
        added = set(Environment().fields) - set(DOCUMENTED)
        hosted = {"SANDBOX_MODULE_PROXY", "SANDBOX_MEMORY_MB", "SANDBOX_API_URL", "SANDBOX_API_KEY", "SANDBOX_DOMAIN"}
        networks = {"GIT_CLONE_HOSTS", "WEBHOOK_ALLOWED_NETWORKS"}
        git = {"GIT_HTTP_PROCESSES", "GIT_MAX_PUSH_MB"}
        builds = {"BUILD_PROCESSES", "BUILD_STORAGE_MB"}
        assert added == hosted | networks | git | builds | {
            "PLAN_LIMITS",
            "DATABASE_POOL",
            "PROJECT_LOG_DAYS",
            "DOCS_URL",
            "SIGN_UP",
            "PASSKEY_RP_ID",
        }


class TestGroups:
    def test_secret_is_not_in_the_representation_of_its_group(self, tmp_path: Path) -> None:
        names = {str(field.attribute): name for name, field in Environment().fields.items() if field.metadata["secret"]}
        settings = Settings.for_tests(tmp_path)
        shown = []
        for name in names:
            *path, last = name.split(".")
            group = functools.reduce(getattr, path, settings)
            shown += [name for field in dataclasses.fields(group) if field.name == last and field.repr]
        assert names
        assert shown == []


class TestContradictions:
    @pytest.mark.parametrize(
        ("given", "named"),
        [
            ({"STORAGE_DRIVER": "s3"}, ["S3_BUCKET"]),
            ({"MAIL_DRIVER": "smtp"}, ["SMTP_URL"]),
            ({"SANDBOX_DRIVER": "hosted"}, ["SANDBOX_API_URL", "SANDBOX_API_KEY"]),
            ({"BILLING_DRIVER": "paddle"}, ["PADDLE_API_KEY", "PADDLE_WEBHOOK_SECRET"]),
            ({"ALLOWED_ORIGINS": "*"}, ["ALLOWED_ORIGINS"]),
        ],
    )
    def test_driver_without_required_variables_is_refused(
        self, tmp_path: Path, given: dict[str, str], named: list[str]
    ) -> None:
        with pytest.raises(ConfigError) as refused:
            Settings.for_tests(tmp_path, **given)
        assert all(f"  {name}: " in str(refused.value) for name in named)


class TestDerivedValues:
    @pytest.mark.parametrize(
        ("base_url", "domain"),
        [
            ("https://cms.example.org", "cms.example.org"),
            ("http://127.0.0.1:8000", "galley.localhost"),
            ("http://localhost:8000", "galley.localhost"),
        ],
    )
    def test_sender_and_bot_use_the_host_of_the_base_url(self, tmp_path: Path, base_url: str, domain: str) -> None:
        settings = Settings.for_tests(tmp_path, BASE_URL=base_url)
        assert settings.mail.sender == f"Galley <no-reply@{domain}>"
        assert settings.git.bot_email == f"galley@{domain}"

    @pytest.mark.parametrize(("word", "provider"), [("google", "gemini"), ("grok", "xai"), ("openai", "openai")])
    def test_ai_provider_aliases_are_resolved(self, tmp_path: Path, word: str, provider: str) -> None:
        assert Settings.for_tests(tmp_path, AI_PROVIDER=word).ai.provider == provider

    def test_ipv6_host_has_brackets_in_the_base_url(self, tmp_path: Path) -> None:
        server = Settings.for_tests(tmp_path, HOST="::1", PORT=8080).server
        assert server.base_url == "http://[::1]:8080"
        assert server.allowed_origins == ("http://[::1]:8080",)
