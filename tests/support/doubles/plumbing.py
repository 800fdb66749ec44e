"""Operations of the Git host doubles on their bare repositories, with plain git."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.git_command import run_git
from tests.support.samples.gitrepo import GitRepo


class GitFailed(Exception):
    """A git command failed."""


def git(folder: Path, *arguments: str, data: bytes = b"", env: dict[str, str] | None = None) -> bytes:
    done = run_git(folder, *arguments, data=data, environment=env)
    if done.returncode != 0:
        raise GitFailed(done.stderr.decode(errors="replace"))
    return done.stdout


@dataclass
class Entry:
    """A line of ls-tree."""

    mode: str
    type: str
    sha: str
    size: int | None
    path: str


@dataclass
class Difference:
    """A record of a diff. `status` is the letter of Git."""

    status: str
    old_mode: str
    new_mode: str
    old_sha: str
    new_sha: str
    old_path: str
    new_path: str


class Plumbing(GitRepo):
    """A bare repository with the operations of a host."""

    def kind(self, name: str) -> str | None:
        """Return the type of an object, or None if it does not exist."""
        try:
            return git(self.folder, "cat-file", "-t", name).decode().strip()
        except GitFailed:
            return None

    def resolve(self, name: str) -> str | None:
        """Return the commit of a branch name or sha."""
        for revision in (f"refs/heads/{name}^{{commit}}", f"{name}^{{commit}}"):
            try:
                return git(self.folder, "rev-parse", "--verify", "--end-of-options", revision).decode().strip()
            except GitFailed:
                continue
        return None

    def ls(self, tree: str, *, recursive: bool = False) -> list[Entry]:
        """Return the entries and folders. Raise GitFailed if the tree does not exist."""
        flags = ["-r", "-t"] if recursive else []
        items = []
        for record in git(self.folder, "ls-tree", *flags, "-l", "-z", "--full-tree", tree).split(b"\0")[:-1]:
            about, path = record.split(b"\t", 1)
            mode, kind, sha, size = about.decode().split()
            items.append(Entry(mode, kind, sha, None if size == "-" else int(size), path.decode()))
        return items

    def find(self, commit: str, path: str) -> Entry | None:
        """Return the entry of a path."""
        folder, _, name = path.rpartition("/")
        try:
            return next((entry for entry in self.ls(f"{commit}:{folder}") if entry.path == name), None)
        except GitFailed:
            return None

    def write_blob(self, content: bytes) -> str:
        return git(self.folder, "hash-object", "-w", "--stdin", data=content).decode().strip()

    def write_tree(self, base: str | None, entries: Sequence[tuple[str, str | None, str]]) -> str:
        """Write a tree: apply (mode, sha or None to remove, path) to `base` in order. Raise GitFailed."""
        with tempfile.TemporaryDirectory() as scratch:
            env = {"GIT_INDEX_FILE": f"{scratch}/index"}
            if base:
                git(self.folder, "read-tree", base, env=env)
            lines = [f"{mode if sha else 0} {sha or '0' * 40}\t{path}" for mode, sha, path in entries]
            git(self.folder, "update-index", "-z", "--index-info", data="\0".join([*lines, ""]).encode(), env=env)
            return git(self.folder, "write-tree", env=env).decode().strip()

    def write_commit(
        self, tree: str, parents: Sequence[str], message: str, author: dict[str, Any], committer: dict[str, Any]
    ) -> str:
        """Write a commit object with exactly this message."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        for role, who in (("author", author), ("committer", committer)):
            seconds = int(datetime.fromisoformat(who["date"]).timestamp())
            lines.append(f"{role} {who['name']} <{who['email']}> {seconds} +0000")
        text = "\n".join([*lines, "", message]).encode()
        return git(self.folder, "hash-object", "-t", "commit", "-w", "--stdin", data=text).decode().strip()

    def is_ancestor(self, old: str, new: str) -> bool:
        try:
            git(self.folder, "merge-base", "--is-ancestor", old, new)
        except GitFailed:
            return False
        return True

    def merge_base(self, one: str, other: str) -> str | None:
        try:
            return git(self.folder, "merge-base", one, other).decode().strip()
        except GitFailed:
            return None

    def move(self, branch: str, new: str, old: str) -> bool:
        """Compare and swap a branch. An `old` of zeros creates it."""
        try:
            git(self.folder, "update-ref", f"refs/heads/{branch}", new, old)
        except GitFailed:
            return False
        return True

    def branch_heads(self) -> dict[str, str]:
        text = git(self.folder, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads/").decode()
        return dict(line.split(" ") for line in text.splitlines())

    def log(self, *revisions: str, path: str | None = None, skip: int = 0, limit: int = 100) -> list[str]:
        """Return the shas, newest first."""
        where = ["--", path] if path else ["--"]
        return (
            git(self.folder, "rev-list", f"--skip={skip}", f"--max-count={limit}", *revisions, *where).decode().split()
        )

    def commit_facts(self, sha: str) -> dict[str, Any]:
        """Return the parts of a commit."""
        form = "%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"
        told = git(self.folder, "log", "-1", f"--format={form}", "--encoding=UTF-8", sha).decode()[:-1]
        tree, parents, an, ae, ad, cn, ce, cd, message = told.split("\0")
        return {
            "sha": sha,
            "tree": tree,
            "parents": parents.split(),
            "author": {"name": an, "email": ae, "date": ad},
            "committer": {"name": cn, "email": ce, "date": cd},
            "message": message,
        }

    def diff(self, old: str, new: str, *, renames: bool = True) -> list[Difference]:
        """Return the differences. `old` may be the empty tree."""
        flags = ["-M"] if renames else ["--no-renames"]
        text = git(self.folder, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", *flags, old, new).decode()
        fields = iter(text.split("\0")[:-1])
        items = []
        for about in fields:
            old_mode, new_mode, old_sha, new_sha, status = about[1:].split(" ")
            first = next(fields)
            last = next(fields) if status[0] in "RC" else first
            items.append(Difference(status[0], old_mode, new_mode, old_sha, new_sha, first, last))
        return items

    def empty_tree(self) -> str:
        return git(self.folder, "mktree").decode().strip()

    def patches(self, old: str, new: str) -> list[str]:
        """Return the text of each difference in the order of `diff`: its hunks, or the line about binary files."""
        text = git(self.folder, "diff-tree", "-r", "-p", "-M", "--no-color", old, new).decode(errors="replace")
        items: list[str] = []
        for section in re.split(r"^diff --git .*\n", text, flags=re.MULTILINE)[1:]:
            body = re.search(r"^(@@ |Binary files )", section, re.MULTILINE)
            items.append(section[body.start() :] if body else "")
        return items
