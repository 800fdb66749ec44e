"""Tests of the validation of file paths, also against `git fsck`."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.paths import MAX_PATH_BYTES, MAX_SEGMENT_BYTES, cached_error, path_error

FINE = [
    "a", "index.md", "with space/file name.md", " leading and trailing ", "unicode/日本語.md", "caf\u00e9.md", "cafe\u0301.md",
    "quote's.md", 'dq"uote.md', "percent%2Fslash.md", "-dash.md", "--option", "app/[slug]/page.tsx", "dots...md", "...",
    ".hidden/.file", ".github/workflows/ci.yml", ".gitignore", ".gitmodules", "star*.md", "colon:name.md", "pipe|.md", "~t",
    "n" * 251 + ".md", "%", "@", "family \U0001f468\u200d\U0001f469.md", "git", "x.git", "git~2",
]  # fmt: skip
BAD = [
    "", "/etc/passwd", "/", "a/", "a//b", ".", "..", "./a", "a/.", "../etc", "a/../b", "a\\b", "\\", ".git", ".git/config",
    "x/.GIT/config", "x/.Git", ".git ", ".git.", ".git . ", "git~1", "GIT~1/x", ".g\u200cit/config", ".git::$INDEX_ALLOCATION",
    "a\x00b", "a\nb", "a\rb", "a\tb", "a\x1bb", "a\x7fb", "a\x85b", "a\u202eb", "a\u200fb", "a\u2066b", "a\u061cb", "\ud800",
    "x" * (MAX_SEGMENT_BYTES + 1), "é" * 128, "a/" * 512 + "b",
]  # fmt: skip


class TestPathError:
    @pytest.mark.parametrize("path", FINE)
    def test_relative_path_is_valid(self, path: str) -> None:
        assert path_error(path) is None

    @pytest.mark.parametrize("path", BAD)
    def test_invalid_path_returns_a_sentence(self, path: str) -> None:
        fault = path_error(path)
        assert fault is not None
        assert fault.startswith(("The path", "A segment"))

    def test_length_is_counted_in_bytes(self) -> None:
        longest = "/".join(["d" * 204] * 5)
        assert len(longest) == MAX_PATH_BYTES
        assert path_error(longest) is None
        assert path_error(longest + "x") is not None
        assert path_error("é" * 127) is None

    @given(st.text(st.characters(codec=None)))
    def test_any_text_returns_a_result(self, path: str) -> None:
        fault = path_error(path)
        assert fault is None or isinstance(fault, str)

    @pytest.mark.parametrize(
        "path", [".git/x", ".GIT/x", "git~1/x", ".g\u200cit/x", ".git. /x", ".git::$INDEX_ALLOCATION/x"]
    )
    def test_git_folder_by_fsck_is_refused(self, path: str, tmp_path: Path) -> None:
        folder, name = path.split("/")
        git = ["git", "-C", str(tmp_path)]
        subprocess.run([*git, "init", "-q", "--bare"], check=True)
        blob = subprocess.run(
            [*git, "hash-object", "-w", "--stdin"], input=b"", capture_output=True, check=True
        ).stdout.strip()
        inner = f"100644 blob {blob.decode()}\t{name}\0".encode()
        tree = subprocess.run([*git, "mktree", "-z"], input=inner, capture_output=True, check=True).stdout.strip()
        outer = f"040000 tree {tree.decode()}\t{folder}\0".encode()
        subprocess.run([*git, "mktree", "-z"], input=outer, capture_output=True, check=True)
        told = subprocess.run([*git, "fsck", "--strict", "--no-dangling"], capture_output=True).stderr
        assert b"hasDotgit" in told
        assert path_error(path) is not None


def test_texts_longer_than_a_path_are_not_cached() -> None:
    before = cached_error.cache_info().currsize
    assert path_error("a" * (MAX_PATH_BYTES + 1)) is not None
    assert cached_error.cache_info().currsize == before
