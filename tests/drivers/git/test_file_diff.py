"""Tests of differences of contents, compared with those of git."""

from pathlib import Path

from app.drivers.git.file_diff import compare_contents, is_binary, unified_diff
from tests.support.samples import renames
from tests.support.samples.gitrepo import GitRepo


def contents(repo: GitRepo, commit: str) -> dict[str, bytes]:
    return {path: repo.show(path, commit) for path in repo.entries(commit)}


class TestCompareContents:
    def test_result_equals_git_diff_numstat(self, tmp_path: Path) -> None:
        repo = GitRepo(tmp_path / "a.git", renames.first_files(11))
        commits = renames.extend(repo, 11, 20)
        base, head = commits[-1], commits[0]
        comparison = compare_contents(contents(repo, base), contents(repo, head))
        expected = renames.numstat(repo, base, head)
        assert {file.path: (file.previous_path, file.additions, file.deletions) for file in comparison} == expected
        assert {file.status for file in comparison} == {"added", "removed", "renamed", "modified"}


class TestUnifiedDiff:
    def test_result_equals_git_diff(self, tmp_path: Path) -> None:
        old = b"".join(b"%d\n" % number for number in range(60))
        new = old.replace(b"7\n", b"seven\n").replace(b"40\n", b"") + b"no newline"
        repo = GitRepo(tmp_path / "a.git", {"a.md": old})
        repo.commit({"a.md": new})
        diff = repo.git("diff", "main~1", "main")
        assert unified_diff(old, new) == diff[diff.index(b"@@ ") :]

    def test_equal_and_binary_contents_have_no_hunks(self) -> None:
        assert unified_diff(b"same\n", b"same\n") == b""
        assert unified_diff(b"\0a", b"\0b") == b""
        assert (is_binary(b"a\0"), is_binary(b"a" * 8000 + b"\0")) == (True, False)
