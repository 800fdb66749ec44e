"""Tests of the remote hosts that the registry creates."""

from pathlib import Path

import pytest

from app.drivers.errors import UpstreamUnavailable
from app.drivers.git.errors import RepositoryUnavailable
from app.drivers.git.hosts import GitHosts
from app.drivers.git.port import Capabilities
from app.drivers.registry.git import git_hosts
from config import Settings
from tests.support.doubles.github import GitHub
from tests.support.doubles.gitlab import GitLab
from tests.support.doubles.plumbing import Plumbing


def hosts(home: Path, **environment: object) -> GitHosts:
    return git_hosts(Settings.for_tests(home, **environment))


class TestGitHosts:
    def test_repository_of_github_reads_with_the_token(self, tmp_path: Path) -> None:
        double, git = GitHub(), Plumbing(tmp_path / "x.git", {"a": b"a"})
        double.add("team/site", git, "ada")
        double.install("team", "team/site")
        made = hosts(tmp_path / "home", GITHUB_URL=double.url, GITHUB_API_URL=double.api_url)
        repository = made.open("github", "team/site", token=double.user_token("ada"))
        assert repository.head("main") == git.head()
        assert made.accounts("github").whoami(double.user_token("ada")).login == "ada"
        double.close()

    def test_repository_of_gitlab_reads_with_the_token(self, tmp_path: Path) -> None:
        double, git = GitLab(), Plumbing(tmp_path / "x.git", {"a": b"a"})
        double.add("team/site", git, "grace")
        made = hosts(tmp_path / "home", GITLAB_URL=double.url, GITLAB_CLIENT_ID="c", GITLAB_CLIENT_SECRET="s")
        repository = made.open("gitlab", "team/site", token=double.token("grace"))
        assert repository.head("main") == git.head()
        with repository.branch_lock("main"):
            pass
        code_flow, accounts = made.oauth("gitlab")
        assert code_flow.authorize_url(redirect_uri="https://x", state="s", code_challenge="c").startswith(double.url)
        assert accounts.whoami(double.token("grace")).login == "grace"
        double.close()

    @pytest.mark.parametrize("provider", ["github", "gitlab"])
    def test_remote_host_without_a_token_is_refused(self, tmp_path: Path, provider: str) -> None:
        with pytest.raises(RepositoryUnavailable, match="Connect an account"):
            hosts(tmp_path).open(provider, "team/site")

    def test_unknown_host_has_no_repositories(self, tmp_path: Path) -> None:
        with pytest.raises(RepositoryUnavailable):
            hosts(tmp_path).open("elsewhere", "team/site", token="token")

    def test_unconfigured_app_raises_provider_not_configured(self, tmp_path: Path) -> None:
        made = hosts(tmp_path, GITHUB_APP_ID="1")
        for ask in (lambda: made.installations("github"), lambda: made.oauth("gitlab"), lambda: made.app("github")):
            with pytest.raises(UpstreamUnavailable, match="not set up") as told:
                ask()
            assert told.value.code == "PROVIDER_NOT_CONFIGURED"

    def test_each_host_declares_its_capabilities(self, tmp_path: Path) -> None:
        made = hosts(tmp_path)
        assert made.capabilities("local") == Capabilities(bulk_reads=True, commits_blobs=True)
        assert made.capabilities("github") == Capabilities(installations=True, commits_blobs=True)
        assert made.capabilities("gitlab") == Capabilities(revokes_refresh_tokens=True)

    def test_host_outside_the_installation_has_no_capability(self) -> None:
        assert GitHosts(None).capabilities("local") == Capabilities()
