"""Tests of diffs, checked with `git apply`."""

import random
import subprocess
from pathlib import Path

import pytest

from app.resources.ai.diffs import unified

pytestmark = pytest.mark.slow


def applied(folder: Path, path: str, old: str, new: str) -> str:
    """Return the content of the file after `git apply` in an empty repository."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    if old:
        file.write_bytes(old.encode())
    diff = unified(path, old, new)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=folder, input=diff.encode(), check=True)
    return file.read_bytes().decode() if file.exists() else ""


def edit(dice: random.Random) -> tuple[str, str]:
    """Return a text of few distinct lines, which are easily confused, and its edited version."""
    end = dice.choice(["\n", "\n", "\n", "\r\n"])
    lines = ["a", "b", "c", "", " ", "\ta", "é", "+x", "-y", "@@ -1 +1 @@", "--- a/f", "\\ No newline at end of file"]
    old = [dice.choice(lines) + end for _ in range(dice.choice([0, 1, 2, 5, 30, 120]))]
    new = [line for line in old if dice.random() > dice.choice([0.0, 0.1, 0.5, 1.0])]
    for _ in range(dice.randrange(1, 5)):
        new.insert(dice.randrange(len(new) + 1), dice.choice([*lines, "new"]) + end)
    before, after = "".join(old), "".join(new)
    before = before.removesuffix(end) if dice.random() < 0.3 else before
    after = after.removesuffix(end) if dice.random() < 0.3 else after
    return before, after


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
    def test_diff_is_applied_by_git(self, case: str, tmp_path: Path) -> None:
        old, new = CASES[case]
        assert applied(tmp_path, "src/file.txt", old, new) == new

    @pytest.mark.parametrize("path", ["a b/c d.md", "ünï/文.md", 'quo"te.md', "-x.md", "deep/er/est.md"])
    def test_path_with_special_characters_is_applied_by_git(self, path: str, tmp_path: Path) -> None:
        assert applied(tmp_path, path, "a\nb\n", "a\nc\n") == "a\nc\n"

    @pytest.mark.parametrize("seed", range(4))
    def test_random_edits_are_applied_by_git(self, tmp_path: Path, seed: int) -> None:
        dice = random.Random(seed)
        edits = {f"d{number % 7}/f{number}.txt": edit(dice) for number in range(100)}
        for path, (old, _) in edits.items():
            if old:
                (tmp_path / path).parent.mkdir(exist_ok=True)
                (tmp_path / path).write_bytes(old.encode())
        diff = "".join(unified(path, old, new) for path, (old, new) in edits.items())
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=tmp_path, input=diff.encode(), check=True)
        for path, (_, new) in edits.items():
            file = tmp_path / path
            assert (file.read_bytes().decode() if file.exists() else "") == new, path

    def test_equal_texts_have_no_diff(self) -> None:
        assert unified("f", "a\n", "a\n") == ""

    def test_diff_of_texts_with_few_matches_applies(self, tmp_path: Path) -> None:
        rng = random.Random(1)
        old = "".join(f"{rng.randrange(40)}\n" for _ in range(30_000))
        new = "".join(f"{rng.randrange(40)}\n" for _ in range(3_000))
        assert applied(tmp_path, "f", old, new) == new
