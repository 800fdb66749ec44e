"""Diffs, judged by `git apply`."""

import random
import subprocess
import time
from pathlib import Path

import pytest

from app.resources.ai.diffs import unified


def applied(folder: Path, path: str, old: str, new: str) -> str:
    """What the file holds after git applied the diff in an empty repository."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    if old:
        file.write_bytes(old.encode())
    diff = unified(path, old, new)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=folder, input=diff.encode(), check=True)
    return file.read_bytes().decode() if file.exists() else ""


LINES = "".join(f"line {n}\n" for n in range(40))
CASES = {
    "a change": (LINES, LINES.replace("line 20\n", "line twenty\n")),
    "two changes apart": (LINES, LINES.replace("line 3\n", "").replace("line 30\n", "line 30\nmore\n")),
    "two changes near": (LINES, LINES.replace("line 3\n", "x\n").replace("line 8\n", "y\n")),
    "changes seven lines apart": (LINES, LINES.replace("line 3\n", "x\n").replace("line 11\n", "y\n")),
    "first and last line": (LINES, "start\n" + LINES.removesuffix("line 39\n")),
    "newline at the end goes": ("a\nb\n", "a\nb"),
    "newline at the end comes": ("a\nb", "a\nb\n"),
    "no newline on either side": ("a\nb", "a\nc"),
    "no newline, change above": ("a\nb\nc\nd\ne", "x\nb\nc\nd\ne"),
    "windows ends": ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"),
    "lone carriage returns, form feeds and line separators": ("a\rb\x0cc\u2028d\ne\n", "a\rb\x0cc\u2028D\ne\n"),
    "from nothing": ("", "a\nb\n"),
    "from nothing, no newline": ("", "a"),
    "to nothing": ("a\nb\n", ""),
    "one line": ("a", "b"),
    "blank lines": ("\n\n\n", "\n\n"),
    "diff-like text": ("--- a\n+++ b\n@@ -1 +1 @@\n", "--- a\n+++ c\n@@ -1 +1 @@\n-x\n"),
}


class TestUnified:
    @pytest.mark.parametrize("case", CASES)
    def test_git_applies_it(self, case: str, tmp_path: Path) -> None:
        old, new = CASES[case]
        assert applied(tmp_path, "src/file.txt", old, new) == new

    @pytest.mark.parametrize("path", ["a b/c d.md", "ünï/文.md", 'quo"te.md', "-x.md", "deep/er/est.md"])
    def test_git_finds_the_file_by_odd_names(self, path: str, tmp_path: Path) -> None:
        assert applied(tmp_path, path, "a\nb\n", "a\nc\n") == "a\nc\n"

    def test_git_applies_random_edits(self, tmp_path: Path) -> None:
        rng = random.Random(7)
        for number in range(60):
            old = [rng.choice("abc") + "\n" for _ in range(rng.randrange(1, 30))]
            new = [line for line in old if rng.random() > 0.2]
            for _ in range(rng.randrange(4)):
                new.insert(rng.randrange(len(new) + 1), rng.choice("abcd") + "\n")
            before, after = "".join(old), "".join(new)
            if rng.random() < 0.3:
                after = after.removesuffix("\n")
            if before != after and after:
                assert applied(tmp_path / str(number), "f", before, after) == after

    def test_same_text_has_no_diff(self) -> None:
        assert unified("f", "a\n", "a\n") == ""

    def test_texts_that_are_hard_to_compare_take_no_time(self, tmp_path: Path) -> None:
        rng = random.Random(1)
        old = "".join(f"{rng.randrange(40)}\n" for _ in range(30_000))
        new = "".join(f"{rng.randrange(40)}\n" for _ in range(3_000))
        start = time.monotonic()
        assert applied(tmp_path, "f", old, new) == new
        assert time.monotonic() - start < 3
