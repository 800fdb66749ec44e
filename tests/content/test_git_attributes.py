"""Tests of the rules of `.gitattributes`: the same result as `git check-attr`."""

from pathlib import Path

import pytest

from app.content.git_attributes import MAX_CHARACTERS, MAX_COMPARISONS, MAX_FOLDERS, LfsRules
from tests.support.git_command import run_git

RULES = {
    ".gitattributes": """
# Images
*.png filter=lfs diff=lfs merge=lfs -text
*.[jJ][pP]g filter=lfs
/media/** filter=lfs
docs/*.pdf filter=lfs
**/raw/*.tif filter=lfs
icon.png -filter
small/*.png !filter
other.bin filter=crypt
text.md text
""",
    "content/.gitattributes": "*.mov filter=lfs\n/a.png filter=other\n",
}
PATHS = (
    "a.png", "content/a.png", "content/b.png", "content/x/a.png", "deep/in/a.png", "photo.JPg", "photo.jpeg", "media/a",
    "media/x/y.txt", "content/media/a", "docs/a.pdf", "docs/x/a.pdf", "raw/a.tif", "x/raw/a.tif", "x/raw/y/a.tif",
    "icon.png", "x/icon.png", "small/a.png", "small/x/a.png", "other.bin", "text.md", "a.mov", "content/x/a.mov",
)  # fmt: skip


def test_result_is_that_of_git(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "--quiet")
    for name, text in RULES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    listed = run_git(tmp_path, "check-attr", "-z", "filter", "--", *PATHS).stdout.decode().split("\0")
    expected = dict(zip(listed[::3], (value == "lfs" for value in listed[2::3]), strict=False))
    rules = LfsRules(RULES)
    assert {path: rules.contain(path) for path in PATHS} == expected


@pytest.mark.parametrize(
    "line", ["", "filter=lfs", "   ", f"{'*a' * MAX_CHARACTERS} filter=lfs", "[ filter=lfs", "** text"]
)
def test_other_lines_send_nothing(line: str) -> None:
    assert not LfsRules({".gitattributes": line}).contain("a/b.png")


def test_patterns_of_many_folders_take_bounded_time() -> None:
    """The rules of one file would take a thousand million comparisons."""
    line = f"{'/'.join(['**/*a'] * 33)} filter=lfs\n"
    rules = LfsRules({".gitattributes": line * 100})
    assert not any(rules.contain("/".join([*["ba"] * 340, "b"])) for _ in range(300))


def test_rules_of_many_files_are_compared() -> None:
    rules = LfsRules({".gitattributes": "*.png filter=lfs\n*.jpg filter=lfs\n"})
    assert all(rules.contain(f"images/{number}.jpg") for number in range(MAX_COMPARISONS // 2))


@pytest.mark.parametrize(("number", "is_known"), [(MAX_CHARACTERS - 5, True), (MAX_CHARACTERS - 4, False)])
def test_further_characters_of_patterns_are_ignored(number: int, is_known: bool) -> None:
    rules = LfsRules({".gitattributes": f"{'a' * number} filter=lfs\n*.png filter=lfs"})
    assert rules.contain("a.png") is is_known


@pytest.mark.parametrize(("depth", "is_known"), [(MAX_FOLDERS, True), (MAX_FOLDERS + 1, False)])
def test_files_of_deeper_folders_are_ignored(depth: int, is_known: bool) -> None:
    folder = "a/" * depth
    assert LfsRules({f"{folder}.gitattributes": "*.png filter=lfs"}).contain(f"{folder}b/a.png") is is_known
