"""Operations of the Git host doubles on their bare repositories, with plain git."""

import hashlib
import os
import re
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.git_command import run_git
from tests.support.samples.gitrepo import SHA, GitRepo

BRANCH = re.compile(r"\w[\w-]*(/\w[\w-]*)*")
"""The branch names whose files are read. Git decides on all other names."""


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

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._outputs: dict[tuple[str, ...], bytes] = {}

    def _read(self, *arguments: str, revisions: Sequence[str]) -> bytes:
        """Return the output of a command. Full shas have only one output, which is cached: a process takes milliseconds."""
        if not all(SHA.fullmatch(each.partition(":")[0]) for each in revisions):
            return git(self.folder, *arguments)
        if arguments not in self._outputs:
            self._outputs[arguments] = git(self.folder, *arguments)
        return self._outputs[arguments]

    def _loose(self, sha: str, max_bytes: int = 0) -> bytes | None:
        """Read an object that is not in a pack: its header and content, or its first bytes."""
        if not SHA.fullmatch(sha):
            return None
        try:
            data = (self.folder / "objects" / sha[:2] / sha[2:]).read_bytes()
        except OSError:
            return None
        return zlib.decompressobj().decompress(data, max_bytes)

    def blob(self, sha: str) -> bytes:
        """Return the content of a blob. Raise GitFailed if it does not exist."""
        loose = self._loose(sha)
        if loose is not None and loose.startswith(b"blob "):
            return loose.partition(b"\0")[2]
        return git(self.folder, "cat-file", "blob", sha)

    def kind(self, name: str) -> str | None:
        """Return the type of an object, or None if it does not exist."""
        header = self._loose(name, 16)
        if header is not None:
            return header.partition(b" ")[0].decode()
        try:
            return git(self.folder, "cat-file", "-t", name).decode().strip()
        except GitFailed:
            return None

    def resolve(self, name: str) -> str | None:
        """Return the commit of a branch name or sha."""
        sha = self.loose_head(name) if BRANCH.fullmatch(name) else None
        sha = sha or name
        if self.kind(sha) == "commit" and SHA.fullmatch(sha):
            return sha
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
        for record in self._read("ls-tree", *flags, "-l", "-z", "--full-tree", tree, revisions=[tree]).split(b"\0")[
            :-1
        ]:
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
        data = b"blob %d\0" % len(content) + content
        sha = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        file = self.folder / "objects" / sha[:2] / sha[2:]
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=file.parent, prefix="tmp_obj_", delete=False) as new:
                new.write(zlib.compress(data, 1))
            Path(new.name).replace(file)
        return sha

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

    def write_merge(
        self, base: str, head: str, message: str, who: dict[str, Any], *, parents: Sequence[str] | None = None
    ) -> str | None:
        """Write the merge of two commits, or with other `parents`. Return None if they conflict."""
        try:
            tree = git(self.folder, "merge-tree", "--write-tree", base, head).decode().split()[0]
        except GitFailed:
            return None
        return self.write_commit(tree, parents or [base, head], message, who, who)

    def write_rebased(self, base: str, head: str, committer: dict[str, Any]) -> str | None:
        """Write the commits between `base` and `head` again on top of `base`. Return None if they conflict."""
        onto = base
        for sha in reversed(self.log(f"{base}..{head}")):
            facts = self.commit_facts(sha)
            try:
                tree = git(self.folder, "merge-tree", "--write-tree", onto, sha).decode().split()[0]
            except GitFailed:
                return None
            onto = self.write_commit(tree, [onto], facts["message"], facts["author"], committer)
        return onto

    def is_ancestor(self, old: str, new: str) -> bool:
        try:
            self._read("merge-base", "--is-ancestor", old, new, revisions=[old, new])
        except GitFailed:
            return False
        return True

    def merge_base(self, one: str, other: str) -> str | None:
        try:
            return self._read("merge-base", one, other, revisions=[one, other]).decode().strip()
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
        folder = self.folder / "refs" / "heads"
        if not (self.folder / "packed-refs").exists():
            names = [
                os.path.relpath(f"{parent}/{name}", folder) for parent, _, files in os.walk(folder) for name in files
            ]
            heads = {name: self.loose_head(name) for name in sorted(names) if not name.endswith(".lock")}
            return {name: sha for name, sha in heads.items() if sha}
        text = git(self.folder, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads/").decode()
        return dict(line.split(" ") for line in text.splitlines())

    def log(self, *revisions: str, path: str | None = None, skip: int = 0, limit: int = 100) -> list[str]:
        """Return the shas, newest first."""
        where = ["--", path] if path else ["--"]
        command = ("rev-list", f"--skip={skip}", f"--max-count={limit}", *revisions, *where)
        ends = [end for each in revisions if not each.startswith("--") for end in each.split("..")]
        return self._read(*command, revisions=ends).decode().split()

    def commit_facts(self, sha: str) -> dict[str, Any]:
        """Return the parts of a commit."""
        form = "%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"
        told = self._read("log", "-1", f"--format={form}", "--encoding=UTF-8", sha, revisions=[sha]).decode()[:-1]
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
        command = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", *flags, old, new)
        text = self._read(*command, revisions=[old, new]).decode()
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
        output = self._read("diff-tree", "-r", "-p", "-M", "--no-color", old, new, revisions=[old, new])
        text = output.decode(errors="replace")
        items: list[str] = []
        for section in re.split(r"^diff --git .*\n", text, flags=re.MULTILINE)[1:]:
            body = re.search(r"^(@@ |Binary files )", section, re.MULTILINE)
            items.append(section[body.start() :] if body else "")
        return items
