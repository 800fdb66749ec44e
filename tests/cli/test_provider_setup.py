"""Tests of the setup steps for Git hosts that `flask seed demo` prints."""

import re
from pathlib import Path

from app.cli.seed import steps
from app.settings.groups import PROJECT
from app.settings.variables import Environment
from config import Settings

DOCUMENT = (PROJECT / "docs/git-hosts.md").read_text()
VARIABLE = re.compile(r"\bGIT(?:HUB|LAB)_[A-Z_]+\b")


def setup_text(home: Path, **more: object) -> str:
    addresses = {"BASE_URL": "https://galley.example.org", "WEB_URL": "https://app.example.org"}
    return "\n".join(steps(Settings.for_tests(home, **addresses, **more)))


class TestSteps:
    def test_steps_of_a_new_installation_are_complete(self, tmp_path: Path) -> None:
        text = setup_text(tmp_path)
        for part in ("docs/git-hosts.md", "https://app.example.org/connect/provider_a", "connect/provider_b"):
            assert part in text
        assert "https://galley.example.org/api/webhooks/provider_a" in text
        assert set(VARIABLE.findall(text)) == {
            "GITHUB_APP_ID", "GITHUB_APP_SLUG", "GITHUB_APP_CLIENT_ID", "GITHUB_APP_CLIENT_SECRET",
            "GITHUB_APP_PRIVATE_KEY", "GITHUB_WEBHOOK_SECRET", "GITLAB_CLIENT_ID", "GITLAB_CLIENT_SECRET",
            "GITLAB_WEBHOOK_SECRET",
        }  # fmt: skip

    def test_steps_of_a_configured_host_are_empty(self, tmp_path: Path) -> None:
        text = setup_text(tmp_path, GITLAB_CLIENT_ID="x", GITLAB_CLIENT_SECRET="canary", GITLAB_WEBHOOK_SECRET="w" * 20)
        assert "GitLab is configured." in text
        assert "GITLAB_" not in text
        assert "canary" not in text

    def test_steps_of_a_partly_configured_host_name_the_missing_variables(self, tmp_path: Path) -> None:
        text = setup_text(tmp_path, GITLAB_CLIENT_ID="x", GITLAB_CLIENT_SECRET="y")
        assert "then set GITLAB_WEBHOOK_SECRET" in text


class TestDocument:
    def test_document_names_the_variables_of_the_schema(self) -> None:
        known = {name for name in Environment().fields if VARIABLE.fullmatch(name)}
        assert set(VARIABLE.findall(DOCUMENT)) >= known - {"GIT_LOCAL", "GIT_LOCAL_ROOT"}
        assert set(VARIABLE.findall(DOCUMENT)) <= known

    def test_document_names_the_printed_urls(self, tmp_path: Path) -> None:
        for address in re.findall(r"https://\S+?/(?:connect|api/webhooks)/provider_[ab]", setup_text(tmp_path)):
            assert address in DOCUMENT
