"""The GitLab driver: the contract of all providers, GitLab's own calls, and every way the host may fail."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from app.drivers.git.gitlab import GitLabProvider
from app.drivers.git.port import Action, FileChange, Person, RepoRef
from tests.doubles.gitlab import GitLab
from tests.doubles.plumbing import Plumbing
from tests.drivers.git.contract import GitContract, Make, PathConflictContract, Subject
from tests.gitrepo import Content

BOT = Person("Galley Bot", "bot@mail.example.org")
REPO = RepoRef("team/sub/site")


@pytest.fixture
def host() -> Iterator[GitLab]:
    double = GitLab()
    yield double
    double.close()


@pytest.fixture
def make(host: GitLab, tmp_path: Path) -> Make:
    def made(files: Mapping[str, Content]) -> Subject:
        git = Plumbing(tmp_path / "site.git", files)
        host.add(REPO.name, git, "grace")
        return Subject(provider(host), REPO, git)

    return made


def provider(host: GitLab) -> GitLabProvider:
    token = host.token("grace")
    return GitLabProvider(host.url, lambda rejected=None: token, bot=BOT)


class TestGitLab(GitContract, PathConflictContract):
    """The contract."""

    def test_commit_is_the_bots_with_the_message_as_given(self, subject: Subject) -> None:
        """The committer is whoever owns the token (contract 4.13)."""
        message = "Änderung ✓\n\nBody with  spaces\n\nCo-authored-by: A <a@mail.example.org>"
        subject.commit(FileChange("x.md", Action.CREATE, b"x"), message=message)
        assert subject.git.text("log", "-1", "--format=%B", "main") == message
        author, committer = subject.git.text("log", "-1", "--format=%an <%ae>%n%cn <%ce>", "main").splitlines()
        assert author == "Galley Bot <bot@mail.example.org>"
        assert committer == "Grace Owner <grace@mail.example.org>"
