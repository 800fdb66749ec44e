"""Replay of merge commits of public repositories: the merge of each file is compared with the commit and with Git.

`GALLEY_REPOSITORIES` names a folder with Git directories, at any depth of up to two folders. Without it the test is
skipped. `GALLEY_MERGES` is the number of the newest merge commits of each repository that are read. `GALLEY_REPORT`
names a folder for the versions of the files with another result than the commit.
"""

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.content.filetypes import file_type
from app.content.front_matter.reader import find_block, read_values
from app.content.merge.files import FileConflicts, merge_file
from app.content.text import decode

FOLDER = os.environ.get("GALLEY_REPOSITORIES")
MERGES = int(os.environ.get("GALLEY_MERGES") or 2_000)
REPORT = os.environ.get("GALLEY_REPORT")
KINDS = {"markdown": "page", "mdx": "page", "html": "page", "yaml": "data", "toml": "data", "json": "data"}


@dataclass(frozen=True)
class Versions:
    """A file that both parents of a merge commit changed."""

    commit: str
    path: str
    base: bytes
    mine: bytes
    theirs: bytes
    committed: bytes

    @property
    def kind(self) -> str:
        """Return the group of the printed figures."""
        return KINDS.get(file_type(self.path).language or "", "other")


class Repository:
    """A Git directory. One process returns all objects."""

    def __init__(self, path: Path) -> None:
        self.path = path
        command = self._command("cat-file", "--batch")
        self._objects = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _command(self, *arguments: str) -> list[str]:
        return ["git", f"--git-dir={self.path}", *arguments]

    def git(self, *arguments: str) -> str:
        return subprocess.run(self._command(*arguments), check=False, capture_output=True).stdout.decode(
            errors="replace"
        )

    def blob(self, name: str) -> bytes | None:
        """Return a file, or None if it does not exist or the copy does not contain it."""
        pipes = self._objects
        assert pipes.stdin is not None
        assert pipes.stdout is not None
        pipes.stdin.write(f"{name}\n".encode())
        pipes.stdin.flush()
        header = pipes.stdout.readline().split()
        if header[-1] == b"missing" or len(header) != 3:
            return None
        data = pipes.stdout.read(int(header[2]))
        pipes.stdout.read(1)
        return data if header[1] == b"blob" else None

    @cache  # noqa: B019
    def changes(self, base: str, side: str) -> dict[str, tuple[str, str]]:
        """Return the old and the new object of each changed regular file."""
        fields = self.git("diff-tree", "-r", "-z", "--no-renames", "--diff-filter=M", base, side).split("\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        return {path: (line.split()[2], line.split()[3]) for line, path in pairs if line.startswith(":100")}

    def merges(self) -> Iterator[tuple[str, str, str]]:
        """Yield the newest merge commits of two parents, with these."""
        for line in self.git("rev-list", "--all", "--merges", "--parents", f"--max-count={MERGES}").splitlines():
            commit, *parents = line.split()
            if len(parents) == 2:
                yield commit, *parents

    def versions(self, commit: str, mine: str, theirs: str) -> Iterator[Versions]:
        """Yield the files that both parents changed in different ways."""
        bases = self.git("merge-base", "--all", mine, theirs).split()
        if len(bases) != 1:
            return
        own, other = self.changes(bases[0], mine), self.changes(bases[0], theirs)
        for path in own.keys() & other.keys():
            old, new, other_new = own[path][0], own[path][1], other[path][1]
            sides = [self.blob(name) for name in (old, new, other_new, f"{commit}:{path}")]
            if new != other_new and "\n" not in path and None not in sides:
                yield Versions(commit, path, *(side or b"" for side in sides))


def merged_by_git(versions: Versions) -> bytes | None:
    """Return the result of `git merge-file`, or None after a conflict."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("mine", "base", "theirs")]
        for file, data in zip(files, (versions.mine, versions.base, versions.theirs), strict=True):
            file.write_bytes(data)
        done = subprocess.run(["git", "merge-file", "-p", *files], check=False, capture_output=True)
    return None if done.returncode else done.stdout


def is_valid(path: str, data: bytes) -> bool:
    """Return whether front matter and data can be read, by PyYAML for YAML. Unknown tags and times count as valid."""
    text, language = decode(data)[0] or "", file_type(path).language or ""
    if KINDS.get(language) == "page":
        block = find_block(text)
        if block is None:
            return True
        language, text = block.language, text[block.start : block.end]
    elif KINDS.get(language) != "data":
        return True
    if language != "yaml":
        return read_values(language, text)[1] is None
    try:
        return bool(list(yaml.parse(text, Loader=yaml.CSafeLoader)))
    except yaml.YAMLError:
        return False


def outcome(versions: Versions) -> str:
    """Return the comparison of the result with the commit and with Git. Raises AssertionError after an invalid result."""
    result = merge_file(versions.path, versions.base, versions.mine, versions.theirs)
    by_git = merged_by_git(versions)
    if isinstance(result, FileConflicts):
        return "conflict of both" if by_git is None else "conflict, Git has none"
    data = result.data or b""
    are_valid = is_valid(versions.path, versions.mine) and is_valid(versions.path, versions.theirs)
    assert is_valid(versions.path, data) or not are_valid, (versions.commit, versions.path)
    found = "equal to the commit" if data == versions.committed else "equal to Git" if data == by_git else "other"
    return f"{found}, conflict of Git" if by_git is None else found


@pytest.mark.skipif(not FOLDER, reason="GALLEY_REPOSITORIES names no folder")
class TestReplay:
    def test_merges_of_public_repositories_are_valid_and_are_counted(self, capsys: pytest.CaptureFixture[str]) -> None:
        commits, table = Counter[str](), dict[str, Counter[str]]()
        for path in sorted(
            {file.parent for depth in ("*", "*/*") for file in Path(FOLDER or "").glob(f"{depth}/HEAD")}
        ):
            repository = Repository(path)
            name = "+".join(path.parts[-2:])
            for merge in repository.merges():
                files = list(repository.versions(*merge))
                commits[name] += bool(files)
                for versions in files:
                    found = outcome(versions)
                    table.setdefault(versions.kind, Counter())[found] += 1
                    if "equal to the commit" not in found and found != "conflict of both":
                        _report(found, name, versions)
        assert commits.total(), "No merge commit has a file that both sides changed"
        with capsys.disabled():
            print(f"\n{commits.total()} merge commits: {dict(commits)}")
            print(*(f"{kind:6} {counts.total():6} files: {dict(counts)}" for kind, counts in table.items()), sep="\n")


def _report(found: str, repository: str, versions: Versions) -> None:
    if not REPORT:
        return
    folder = Path(REPORT, found.replace(" ", "-"), f"{repository}-{versions.commit[:9]}-{Path(versions.path).name}")
    folder.mkdir(parents=True, exist_ok=True)
    result: Any = merge_file(versions.path, versions.base, versions.mine, versions.theirs)
    sides = {"base": versions.base, "mine": versions.mine, "theirs": versions.theirs, "committed": versions.committed}
    for name, data in sides.items():
        (folder / name).write_bytes(data)
    if isinstance(result, FileConflicts):
        (folder / "conflicts").write_text(f"{versions.path}\n" + "\n\n".join(map(repr, result.conflicts)))
    else:
        (folder / "merged").write_bytes(result.data or b"")
        (folder / "git").write_bytes(merged_by_git(versions) or b"")
