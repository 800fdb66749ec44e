"""Test of a repository with 60,000 files, more than GitHub returns in one response."""

from collections.abc import Iterator

import pytest

from app.drivers.git.github.provider import GitHubRepository
from app.drivers.git.port import Action, FileChange, Person, RepoRef
from tests.support.doubles.github import GitHub
from tests.support.doubles.plumbing import Plumbing

REPO = "team/large"


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Plumbing:
    files = {
        f"content/section-{n % 40:02}/topic-{n // 40 % 25:02}/post-{n:05}.md": b"%d" % (n % 50) for n in range(60_000)
    }
    return Plumbing(tmp_path_factory.mktemp("large") / "large.git", files)


@pytest.fixture
def host(git: Plumbing) -> Iterator[GitHub]:
    double = GitHub()
    double.add(REPO, git)
    double.install("team", REPO)
    yield double
    double.close()


@pytest.fixture
def repository(host: GitHub) -> GitHubRepository:
    token = host.installation_token(90)
    return GitHubRepository(
        host.api_url, RepoRef(REPO), lambda rejected=None: token, bot=Person("Bot", "bot@mail.example.org")
    )


def test_truncated_tree_of_60000_files_equals_that_of_git(
    git: Plumbing, host: GitHub, repository: GitHubRepository
) -> None:
    entries = list(repository.tree(git.head()))
    assert any(call.one("recursive") for call in host.journal)
    assert len(host.journal) > 1
    assert [(e.path, (e.type, e.mode, e.sha, e.size)) for e in entries] == list(git.entries().items())


def test_commit_on_a_truncated_tree_changes_one_path(git: Plumbing, repository: GitHubRepository) -> None:
    before = git.entries()
    change = FileChange("content/section-07/topic-03/new.md", Action.CREATE, b"new")
    created = repository.commit("main", [change], "One file", expected_head=git.head())
    assert git.head() == created.sha
    after = git.entries()
    assert after.pop(change.path)[0] == "blob"
    assert after == before
