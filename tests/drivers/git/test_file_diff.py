"""Tests of differences of contents, compared with those of git."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.content.sequence_diff import RangeChange
from app.content.three_way import compare, merge
from app.drivers.git.file_diff import (
    MAX_CHANGES,
    changed_lines,
    compare_contents,
    is_binary,
    replacing_hunk,
    unified_diff,
)
from tests.support.git_command import run_git
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

    @pytest.mark.parametrize(("old", "new"), [("a\nb-", "b\nc\n"), ("", "a"), ("a\n", ""), ("-\n\n", "\n+")])
    def test_replacing_hunk_is_applied_by_git(self, tmp_path: Path, old: str, new: str) -> None:
        file = tmp_path / "f"
        heading = f"--- {'a/f' if old else '/dev/null'}\n+++ {'b/f' if new else '/dev/null'}\n"
        if old:
            file.write_text(old)
        diff = heading.encode() + replacing_hunk(old.encode(), new.encode())
        assert run_git(tmp_path, "apply", "--unsafe-paths", "-", data=diff).returncode == 0
        assert (file.read_text() if file.exists() else "") == new

    def test_all_lines_are_replaced_after_the_time_limit(self) -> None:
        old, new = (text.encode() for text in unordered_texts())
        assert unified_diff(old, new, timeout_s=0) == replacing_hunk(old, new)


def unordered_texts() -> Iterator[str]:
    """Yield two texts for which Git needs some seconds."""
    for seed in (1, 2):
        dice = random.Random(seed)
        yield "".join(f"{dice.choice('ab')}\n" for _ in range(200_000))


def edited(dice: random.Random, lines: list[str]) -> str:
    """Return the lines with a few edits, sometimes without the final line feed."""
    result = list(lines)
    for _ in range(dice.randrange(4)):
        position = dice.randrange(len(result) + 1)
        result[position : position + dice.randrange(3)] = [f"{dice.choice('abcX')}\n"] * dice.randrange(3)
    return "".join(result).removesuffix("\n" if dice.random() < 0.2 else "\0")


class TestChangedLines:
    def test_changes_are_counted_from_zero(self) -> None:
        assert changed_lines("a\nb\nc", "b\nB\nc") == [RangeChange(0, 1, 0, 0), RangeChange(2, 2, 1, 2)]
        assert changed_lines("", "a\0\n") == [RangeChange(0, 0, 0, 1)]
        assert changed_lines("same", "same") == []

    def test_all_lines_are_one_change_after_the_limits(self) -> None:
        assert changed_lines(*unordered_texts(), timeout_s=0) == [RangeChange(0, 200_000, 0, 200_000)]
        old, new = ("".join(f"{n if n % 2 else side}\n" for n in range(3 * MAX_CHANGES)) for side in ("a", "b"))
        assert changed_lines(old, new) == [RangeChange(0, 3 * MAX_CHANGES, 0, 3 * MAX_CHANGES)]

    @pytest.mark.slow
    def test_merged_text_equals_git_merge_file(self, tmp_path: Path) -> None:
        dice = random.Random(5)
        merged = 0
        for _ in range(150):
            lines = [f"{dice.choice('abcdefgh')}\n" for _ in range(dice.randrange(25))]
            sides = {"base": "".join(lines), "mine": edited(dice, lines), "theirs": edited(dice, lines)}
            for name, text in sides.items():
                (tmp_path / name).write_text(text)
            expected = run_git(tmp_path, "merge-file", "-p", "--diff3", "mine", "base", "theirs")
            parts = compare(**sides, diff=changed_lines)
            assert any(part.is_conflict for part in parts) == bool(expected.returncode)
            if not expected.returncode:
                merged += 1
                assert merge(parts).encode() == expected.stdout
        assert merged > 50
