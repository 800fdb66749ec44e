"""The GitHub driver: the contract of all providers, GitHub's own calls, and every way the host may fail."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from app.drivers.git.github import GitHubProvider
from app.drivers.git.port import Person, RepoRef
from tests.doubles.github import GitHub
from tests.doubles.plumbing import Plumbing
from tests.drivers.git.contract import GitContract, Make, PathConflictContract, Subject
from tests.gitrepo import Content

BOT = Person("Galley Bot", "bot@mail.example.org")
REPO = RepoRef("team/site")


@pytest.fixture
def host() -> Iterator[GitHub]:
    double = GitHub()
    yield double
    double.close()
    assert double.violations == []


@pytest.fixture
def make(host: GitHub, tmp_path: Path) -> Make:
    def made(files: Mapping[str, Content]) -> Subject:
        git = Plumbing(tmp_path / "site.git", files)
        host.add(REPO.name, git, "ada")
        host.install("team", REPO.name)
        return Subject(provider(host), REPO, git)

    return made


def provider(host: GitHub) -> GitHubProvider:
    token = host.installation_token(next(iter(host.installations)))
    return GitHubProvider(host.api_url, lambda rejected=None: token, bot=BOT)


class TestGitHub(GitContract, PathConflictContract):
    """The contract."""
