"""History and comparison of an old repository: equality with git, and duration compared with the git command.

`GALLEY_HISTORY_REPOSITORY` names a clone of a public repository. Without it, a repository is generated.
"""

import os
import random
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest

from app.drivers.git.local.provider import LocalGit
from app.drivers.git.port import Person
from app.resources.project_content.source import Source
from app.resources.project_content.versions.comparison import compare
from app.resources.project_content.versions.history import read_history
from tests.support.samples import renames
from tests.support.samples.gitrepo import GitRepo

CLONE = os.environ.get("GALLEY_HISTORY_REPOSITORY")
FILES, COMMITS, SEED = 50, 2_000, 11
MAX_HISTORY_RATIO, MAX_COMPARISON_RATIO = 3.0, 8.0


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Source, GitRepo]]:
    """Return a repository with at least 2,000 commits and the source that reads it."""
    root = tmp_path_factory.mktemp("git")
    name = f"bench/r{secrets.token_hex(4)}"
    folder = root / f"{name}.git"
    repo = GitRepo(folder, None if CLONE else renames.first_files(SEED))
    if CLONE:
        repo.git("fetch", "-q", str(Path(CLONE).resolve()), "HEAD:refs/heads/main")
    else:
        renames.extend(repo, SEED, COMMITS)
    provider = LocalGit(root, bot=Person("Galley Bot", "bot@mail.example.org"))
    yield Source(provider.open(name), "main"), repo
    provider.close()


def _duration(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _history(source: Source, path: str) -> list[str]:
    shas: list[str] = []
    cursor = None
    while True:
        page = read_history(source, file=path, cursor=cursor)
        shas += [entry.commit.sha for entry in page.entries]
        cursor = page.next_cursor
        if cursor is None:
            return shas


def test_history_of_fifty_files_equals_git_log_follow(old: tuple[Source, GitRepo]) -> None:
    source, repo = old
    paths = random.Random(SEED).sample(sorted(repo.entries()), min(FILES, len(repo.entries())))
    expected = {path: repo.text("log", "--follow", "--format=%H", "main", "--", path).split() for path in paths}
    assert {path: _history(source, path) for path in paths} == expected
    ratios = [
        _duration(lambda path=path: read_history(source, file=path))
        / _duration(lambda path=path: repo.git("log", "--follow", "-n51", "--format=%H", "main", "--", path))
        for path in paths
    ]
    print(f"history page: {median(ratios):.2f} times git log --follow, {len(repo.commits())} commits")
    assert median(ratios) < MAX_HISTORY_RATIO


def test_comparison_of_a_hundred_files_equals_git_diff_numstat(old: tuple[Source, GitRepo]) -> None:
    source, repo = old
    commits = repo.commits()
    choice, ratios = random.Random(SEED), []
    for _ in range(FILES):
        base, head = choice.sample(commits, 2)
        found = compare(source, base=base, head=head, limit=3_000)
        expected = renames.numstat(repo, base, head)
        assert {file.path: (file.previous_path, file.additions, file.deletions) for file in found.files} == expected
        if len(expected) >= 100:
            ratios.append(
                _duration(lambda base=base, head=head: compare(source, base=base, head=head, limit=100))
                / _duration(lambda base=base, head=head: repo.git("diff", "--numstat", base, head))
            )
    print(f"comparison of 100 files: {median(ratios):.2f} times git diff --numstat, {len(ratios)} pairs")
    assert median(ratios) < MAX_COMPARISON_RATIO
