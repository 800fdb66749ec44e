"""Bare repositories that are written with `git fast-import` and read with git, without the drivers."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.support.git_command import run_git

FILE, EXECUTABLE, SYMLINK, SUBMODULE = "100644", "100755", "120000", "160000"
AUTHOR = "Ada Author <ada@mail.example.org> 1700000000 +0100"
NO_SHA = "0" * 40
SHA = re.compile("[0-9a-f]{40}")
MAX_COPIED_FILES = 40
MAX_COPIED_BYTES = 64 << 10
_copies: dict[tuple[object, ...], dict[str, bytes]] = {}

# The bytes of a regular file; (mode, bytes); (SUBMODULE, sha); None to delete.
Content = bytes | tuple[str, bytes] | tuple[str, str] | None

AWKWARD: dict[str, Content] = {
    "README.md": b"# Read me\n",
    "with space/file name.md": b"spaces\n",
    " leading and trailing ": b"edges\n",
    "unicode/日本語.md": "日本語\n".encode(),
    "unicode/caf\u00e9.md": b"one character\n",
    "unicode/cafe\u0301.md": b"two characters\n",
    "emoji/😀.md": b"smile\n",
    'quotes/double".md': b"double\n",
    "quotes/single'.md": b"single\n",
    "-dash.md": b"dash\n",
    "--option": b"option\n",
    ":(top)magic*?[x].md": b"pathspec\n",
    "percent%2Fslash.md": b"percent\n",
    "/".join(f"deep{n}" for n in range(20)) + "/leaf.md": b"deep\n",
    "bin/run.sh": (EXECUTABLE, b"#!/bin/sh\n"),
    "links/to-run": (SYMLINK, b"../bin/run.sh"),
    "links/broken": (SYMLINK, b"nowhere"),
    "empty.txt": b"",
    "binary.dat": bytes(range(256)) * 40,
    "vendor/theme": (SUBMODULE, "5a1e" * 10),
}


class GitRepo:
    """A bare repository."""

    def __init__(self, folder: Path, files: Mapping[str, Content] | None = None, *, branch: str = "main") -> None:
        self.folder = folder
        # The files of `git init --bare --template=`. The tests create thousands of repositories.
        for name in ("objects", "refs"):
            (folder / name).mkdir(parents=True)
        (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n")
        (folder / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        if files is not None:
            self._import_first(files, branch)

    def _import_first(self, files: Mapping[str, Content], branch: str) -> None:
        """Commit the first files. Repositories with equal small files have equal objects, which are copied."""
        key = (branch, *files.items())
        if key in _copies:
            for name, data in _copies[key].items():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_bytes(data)
            return
        self._import([(files, "Add files")], branch)
        size_bytes = sum(
            len(content if isinstance(content, bytes) else content[1]) for content in files.values() if content
        )
        if len(files) <= MAX_COPIED_FILES and size_bytes <= MAX_COPIED_BYTES:
            written = [
                file for name in ("objects", "refs") for file in (self.folder / name).rglob("*") if file.is_file()
            ]
            _copies[key] = {str(file.relative_to(self.folder)): file.read_bytes() for file in written}

    @classmethod
    def existing(cls, folder: Path) -> Self:
        """Return an existing repository."""
        repo = cls.__new__(cls)
        repo.folder = folder
        return repo

    def git(self, *arguments: str, data: bytes = b"") -> bytes:
        done = run_git(self.folder, *arguments, data=data)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout

    def text(self, *arguments: str) -> str:
        return self.git(*arguments).decode().strip()

    def head(self, branch: str = "main") -> str:
        return self.loose_head(branch) or self.text("rev-parse", "--verify", f"refs/heads/{branch}")

    def loose_head(self, branch: str) -> str | None:
        """Read the file of a branch, without a process. Return None if the branch does not exist or is packed."""
        try:
            content = (self.folder / "refs" / "heads" / branch).read_text().strip()
        except (OSError, ValueError):
            return None
        return content if SHA.fullmatch(content) else None

    def commit(
        self,
        files: Mapping[str, Content],
        message: str = "Add files",
        *,
        branch: str = "main",
        start: str | None = None,
        merge: str | None = None,
    ) -> str:
        """Commit on a branch, or on `start`, and return the new head."""
        self.commit_all([(files, message)], branch=branch, start=start, merge=merge)
        return self.head(branch)

    def commit_all(
        self,
        commits: Sequence[tuple[Mapping[str, Content], str]],
        *,
        branch: str = "main",
        start: str | None = None,
        merge: str | None = None,
    ) -> None:
        """Make several commits with one process. Each has files and a message; the first one may be a merge."""
        known = (
            start
            or self.loose_head(branch)
            or self.text("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        )
        self._import(commits, branch, known, merge)

    def _import(
        self,
        commits: Sequence[tuple[Mapping[str, Content], str]],
        branch: str,
        known: str = "",
        merge: str | None = None,
    ) -> None:
        parts: list[bytes] = []
        for number, (files, message) in enumerate(commits):
            told = message.encode()
            parts += [f"commit refs/heads/{branch}\ncommitter {AUTHOR}\ndata {len(told)}\n".encode(), told, b"\n"]
            if known and number == 0:
                parts.append(f"from {known}\n".encode())
            if merge and number == 0:
                parts.append(f"merge {merge}\n".encode())
            parts += [_modify(path.encode(), content) for path, content in files.items()]
        self.git("fast-import", "--quiet", "--date-format=raw", data=b"".join(parts))

    def entries(self, commit: str = "main") -> dict[str, tuple[str, str, str, int | None]]:
        """Return {path: (type, mode, sha, size)} from `git ls-tree -r -l`."""
        values = {}
        for record in self.git("ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            about, path = record.split(b"\t", 1)
            mode, kind, sha, size = about.decode().split()
            values[path.decode()] = kind, mode, sha, None if size == "-" else int(size)
        return values

    def show(self, path: str, commit: str = "main") -> bytes:
        return self.git("cat-file", "blob", f"{commit}:{path}")

    def commits(self, branch: str = "main") -> list[str]:
        return self.text("rev-list", branch).split()

    def check(self) -> None:
        self.git("fsck", "--strict", "--no-dangling")


def _modify(path: bytes, content: Content) -> bytes:
    name = b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    if content is None:
        return b"D %s\n" % name
    mode, data = content if isinstance(content, tuple) else (FILE, content)
    if isinstance(data, str):
        return f"M {mode} {data} ".encode() + name + b"\n"
    return b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name, len(data), data)
