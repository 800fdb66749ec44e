"""The program of the `pre-receive` hook, which `git receive-pack` starts in the folder of the repository.

It reads the received commits in a separate process with limits, because the client decides their number and sizes.
Then it asks the service for permission. It imports only the standard library and the rules of paths and names.
"""

import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from app.core.limits import KIB, MIB, PushLimits
from app.core.paths import MAX_PATH_BYTES, folded, path_error
from app.core.refs import BRANCHES, FIRST_MESSAGE, TAGS, is_branch_name
from app.core.unix_sockets import short_address

SOCKET, WORKING = "GALLEY_HOOK_SOCKET", "GALLEY_HOOK_BRANCHES"
"""Variables with the path of the socket of the service, and with the working branches of the projects as JSON."""

QUARANTINE, OTHER_OBJECTS = "GIT_QUARANTINE_PATH", "GIT_ALTERNATE_OBJECT_DIRECTORIES"
"""Variables of git: the folder of the received objects, and that of the objects of the repository."""

BOT_EMAIL = "GALLEY_HOOK_BOT_EMAIL"
"""Variable with the e-mail address in the commits of the service."""

NOTHING = "0" * 40
FOLDER, SYMLINK = b"40000", b"120000"
MAX_TARGET_BYTES = 4096
MAX_SHOWN, MAX_PATH_CHARACTERS = 10, 100
ANSWER_S = 60
UNREADABLE = "The received commits cannot be read within the limits of memory and time. Push fewer commits at once"
INCOMPLETE = "The parents of the received commits are missing. If your clone is shallow, run: git fetch --unshallow"
NOT_AVAILABLE = "The service is not available. Try again shortly"
OTHER_REF = "Only branches and tags can be pushed"
REF_NAME = "The name is HEAD, starts with - or refs/, contains hidden characters, or has more than 255 bytes"
TOO_MANY_UPDATES = f"A push can change at most {PushLimits.updates:,} branches and tags"
TOO_MANY_ENTRIES = f"The commits of a push can add or change at most {PushLimits.entries:,} files and folders"
TOO_MANY_BYTES = (
    f"The objects of a push must have at most {PushLimits.received_bytes // MIB:,} MiB when they are unpacked"
)
LARGE_FILE = f"A file must have at most {PushLimits.blob_bytes // MIB} MiB, also in earlier commits"
LARGE_FOLDER = f"A folder must have at most {PushLimits.folder_bytes // MIB} MiB of names"
UNKNOWN_MODE = "A folder has an entry with a mode that Git does not write"
LARGE_MESSAGE = f"The message of a commit or tag must have at most {PushLimits.message_bytes // KIB} KiB"
MAX_BYTES = {
    "blob": (PushLimits.blob_bytes, None),
    "tree": (PushLimits.folder_bytes, LARGE_FOLDER),
    "commit": (PushLimits.message_bytes, LARGE_MESSAGE),
    "tag": (PushLimits.message_bytes, LARGE_MESSAGE),
}
"""The largest object of each type, and the reason against a larger one. A file is named with its path later."""

_ENTRY = re.compile(rb"(?:0?40000|100[0-7]{3}|120000|160000) [^\0]++\0.{20}", re.DOTALL)
"""An entry of a tree. Git reads other modes as well: 40755 is that of a folder."""

_SHA_BYTES = 20


class PushRefused(Exception):
    """A reason against a push that ends its check."""


@dataclass(frozen=True)
class ReceivedEntry:
    """A file, link or submodule that a received commit adds or changes."""

    path: str
    mode: bytes
    sha: str


def main() -> int:
    """Check a push. Return 0 if the service permits it. Otherwise write the reasons for the user of the client."""
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (PushLimits.hook_bytes, PushLimits.hook_bytes))
        reasons = _reasons()
    except PushRefused as refused:
        reasons = [str(refused)]
    except (OSError, ValueError, LookupError, MemoryError, subprocess.SubprocessError):
        reasons = [UNREADABLE]
    shown = [*reasons[:MAX_SHOWN], *(["… and more"] if len(reasons) > MAX_SHOWN else [])]
    sys.stderr.writelines(f"{line}\n" for line in shown)
    return 1 if reasons else 0


def _reasons() -> list[str]:
    lines = list(islice(sys.stdin.buffer, PushLimits.updates + 1))
    if len(lines) > PushLimits.updates:
        return [TOO_MANY_UPDATES]
    updates = [line.rstrip(b"\n").decode(errors="surrogateescape").split(" ", 2) for line in lines]
    if faults := _first(_ref_faults(updates)):
        return faults
    large = _large_files()
    commits = sorted({after for _, after, _ in updates if after != NOTHING})
    checks = (_objects_without_commit(commits), _faults(commits, large), _equal_names(updates))
    return next(filter(None, map(_first, checks)), None) or _ask(updates)


def _first(reasons: Iterable[str]) -> list[str]:
    """Return the first different reasons: those that are shown, and another one."""
    unique: dict[str, None] = {}
    for reason in reasons:
        unique[reason] = None
        if len(unique) > MAX_SHOWN:
            break
    return list(unique)


def _ref_faults(updates: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the refs that are neither branches nor tags, or have a name that can only be deleted."""
    for _, after, ref in updates:
        prefix = next((prefix for prefix in (BRANCHES, TAGS) if ref.startswith(prefix)), None)
        if prefix is None:
            yield f"{_shown(ref)[1:-1]}: {OTHER_REF}"
        elif after != NOTHING and not is_branch_name(ref.removeprefix(prefix)):
            yield f"{_shown(ref)[1:-1]}: {REF_NAME}"


def _large_files() -> frozenset[str]:
    """Return the received files that are too large. Reads the headers of the received objects, not their contents.

    Raises:
        PushRefused: another object is too large, or all of them are.
    """
    large, total = set(), 0
    for sha, kind, size in _received() if QUARANTINE in os.environ else ():  # A deletion receives nothing.
        at_most, reason = MAX_BYTES[kind]
        if size > at_most and reason is not None:
            raise PushRefused(f"{sha}: {reason}")
        if size > at_most:
            large.add(sha)
        total += size
        if total > PushLimits.received_bytes:
            raise PushRefused(TOO_MANY_BYTES)
    return frozenset(large)


def _received() -> Iterator[tuple[str, str, int]]:
    """Yield the name, the type and the size of each received object."""
    command = ("git", "cat-file", "--batch-all-objects", "--unordered", "--buffer")
    check = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    received = {name: value for name, value in os.environ.items() if name != OTHER_OBJECTS}
    with subprocess.Popen([*command, check], stdout=subprocess.PIPE, env=received) as process:
        for line in process.stdout or ():
            sha, kind, size = line.decode().split()
            yield sha, kind, int(size)
    if process.returncode:
        raise subprocess.SubprocessError


def _objects_without_commit(shas: Sequence[str]) -> Iterator[str]:
    lines = "".join(f"{sha}^{{commit}}\n" for sha in shas).encode()
    command = ("git", "cat-file", "--batch-check")
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, check=True)
    for sha, line in zip(shas, done.stdout.splitlines(), strict=True):
        if line.endswith(b" missing"):
            yield f"{sha}: Branches and tags must name a commit"


def _faults(commits: Sequence[str], large: frozenset[str]) -> Iterator[str]:
    """Yield the invalid paths, the large files, and the symbolic links that are absolute or lead out."""
    reader = ReceivedTrees()
    target_of = lru_cache(maxsize=256)(reader.read)
    for entry in reader.entries(commits):
        error = path_error(entry.path)
        if error is None and entry.mode == SYMLINK:
            target = target_of(entry.sha, MAX_TARGET_BYTES)
            if target is None or not stays_inside(entry.path, target):
                error = "The symbolic link must lead to a path of the repository"
        elif error is None and entry.sha in large:
            error = LARGE_FILE
        if error is not None:
            yield f"{_shown(entry.path)}: {error}"


def _equal_names(updates: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the new names of branches that Windows and macOS cannot distinguish from another name of their folder."""
    reader = ReceivedTrees()
    for before, after in dict.fromkeys((before, after) for before, after, ref in updates if ref.startswith(BRANCHES)):
        base = f"{'HEAD' if before == NOTHING else before}^{{tree}}"
        if after != NOTHING:
            for path, other in reader.equal_names(f"{after}^{{tree}}", base if reader.has(base) else None):
                yield f"{_shown(path)}: {_shown(other)} exists. A name cannot differ from it in case or accents only"


class ReceivedTrees:
    """The files of the received commits. One process of git reads the trees, one tree at a time.

    `git diff-tree` would store all files of a commit before it returns the first one, also those of a folder that a
    tree contains a thousand times.
    """

    def __init__(self) -> None:
        self._entries_read = 0
        self._git = subprocess.Popen(("git", "cat-file", "--batch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """Return the content of an object, or None if it is larger. Raises LookupError, ValueError or OSError."""
        requests, responses = self._git.stdin, self._git.stdout
        if requests is None or responses is None:
            raise ValueError
        requests.write(f"{name}\n".encode())
        requests.flush()
        size = int(responses.readline().split()[2])
        if size > max_bytes:
            for start in range(0, size + 1, MIB):
                responses.read(min(MIB, size + 1 - start))
            return None
        content = responses.read(size)
        responses.read(1)
        return content

    def has(self, name: str) -> bool:
        """Return whether an object exists."""
        try:
            self.read(name, 0)
        except LookupError:
            return False
        return True

    def entries(self, commits: Sequence[str]) -> Iterator[ReceivedEntry]:
        """Yield the entries of all commits that no branch or tag contains. Merges yield what differs from all parents.

        Raises:
            PushRefused: the commits have too many entries, or a folder is too large.
        """
        for commit, *parents in _new_commits(commits):
            self._count(1)
            yield from self._below(f"{commit}^{{tree}}", [f"{parent}^{{tree}}" for parent in parents], b"")

    def equal_names(self, tree: str, before: str | None, folder: bytes = b"") -> Iterator[tuple[str, str]]:
        """Yield the paths that a tree has and another does not have, if their folder has an equal one. See `folded`.

        Raises:
            PushRefused: the trees differ in too many entries.
        """
        present = {name: (mode, sha) for mode, name, sha in map(_parts, self._entries_of(tree))}
        others = {name: (mode, sha) for mode, name, sha in map(_parts, self._entries_of(before))} if before else {}
        changed = [name for name in sorted(present) if present[name] != others.get(name)]
        self._count(len(changed))
        texts = {name: name.decode(errors="surrogateescape") for name in present}
        equal = dict[str, bytes]()
        for name in sorted(present, key=lambda name: name not in others):
            first = equal.setdefault(folded(texts[name]), name)
            if first != name and name not in others:
                path = folder.decode(errors="surrogateescape")
                yield path + texts[name], path + texts[first]
        for name in changed:
            (mode, sha), (old_mode, old_sha) = present[name], others.get(name, (b"", ""))
            if mode == FOLDER:
                yield from self.equal_names(sha, old_sha if old_mode == FOLDER else None, folder + name + b"/")

    def _below(self, tree: str, before: Sequence[str], folder: bytes) -> Iterator[ReceivedEntry]:
        changed, replaced = self._compare(tree, before)
        self._count(len(changed))
        for entry in changed:
            mode, name, sha = _parts(entry)
            path = folder + name
            if mode == FOLDER and len(path) <= MAX_PATH_BYTES:
                yield from self._below(sha, [shas[name] for shas in replaced if name in shas], path + b"/")
            else:
                yield ReceivedEntry(path.decode(errors="surrogateescape"), mode, sha)

    def _compare(self, tree: str, before: Sequence[str]) -> tuple[list[bytes], list[Mapping[bytes, str]]]:
        """Return the entries of a tree that no other tree has, and the folders of the others that they replace."""
        present, others = self._entries_of(tree), [self._entries_of(other) for other in before]
        changed = sorted(present.difference(*others))
        folders = {name for mode, name, _ in map(_parts, changed) if mode == FOLDER}
        return changed, [
            {name: sha for mode, name, sha in map(_parts, other - present) if mode == FOLDER and name in folders}
            for other in others
        ]

    def _entries_of(self, tree: str) -> set[bytes]:
        data = self.read(tree, PushLimits.folder_bytes)
        if data is None:
            raise PushRefused(LARGE_FOLDER)
        entries = _ENTRY.findall(data)
        if sum(map(len, entries)) != len(data):
            raise PushRefused(UNKNOWN_MODE)
        return set(entries)

    def _count(self, entries: int) -> None:
        self._entries_read += entries
        if self._entries_read > PushLimits.entries:
            raise PushRefused(TOO_MANY_ENTRIES)


def _new_commits(commits: Sequence[str]) -> Iterator[list[str]]:
    """Yield each commit that no branch or tag contains, followed by its parents.

    Raises:
        PushRefused: a parent is missing, as in a push from a shallow clone.
    """
    command = ("git", "rev-list", "--parents", f"--max-count={PushLimits.entries + 1}", "--stdin", "--not", "--all")
    with tempfile.TemporaryFile() as file:
        shas = "".join(f"{sha}\n" for sha in commits).encode()
        done = subprocess.run(command, input=shas, stdout=file, stderr=subprocess.PIPE, check=False)
        if b"Could not read" in done.stderr:
            raise PushRefused(INCOMPLETE)
        done.check_returncode()
        file.seek(0)
        for line in file:
            yield line.decode().split()


def _parts(entry: bytes) -> tuple[bytes, bytes, str]:
    """Return the mode without leading zeros, the name and the sha of an entry of a tree."""
    mode, _, name = entry[: -_SHA_BYTES - 1].partition(b" ")
    return mode.lstrip(b"0"), name, entry[-_SHA_BYTES:].hex()


def _shown(path: str) -> str:
    """Return a path for a terminal, without control characters and not longer than a line."""
    return ascii(path if len(path) <= MAX_PATH_CHARACTERS else f"{path[:MAX_PATH_CHARACTERS]}...")


def stays_inside(path: str, target: bytes) -> bool:
    """Return whether a symbolic link at a path leads to a path of the repository."""
    depth = path.count("/")
    if target.startswith(b"/"):
        return False
    for part in target.split(b"/"):
        depth += {b"": 0, b".": 0, b"..": -1}.get(part, 1)
        if depth < 0:
            return False
    return True


def _ask(updates: Iterable[Sequence[str]]) -> list[str]:
    """Send the updates to the service. Return its reasons against them."""
    try:
        working = json.loads(os.environ[WORKING])
        request = [[ref, before, after, _is_rewrite(before, after, ref, working)] for before, after, ref in updates]
        path = Path(os.environ[SOCKET])
        with socket.socket(socket.AF_UNIX) as service:
            service.settimeout(ANSWER_S)
            with short_address(path.parent, path.name) as address:
                service.connect(address)
            service.sendall(json.dumps(request).encode() + b"\n")
            with service.makefile("rb") as answer:
                reasons: list[str] = json.loads(answer.readline())
    except (OSError, ValueError):
        return [NOT_AVAILABLE]
    return reasons


def _is_rewrite(before: str, after: str, ref: str, working: Sequence[str]) -> bool | None:
    """Return whether an update removes commits from a working branch, for which a process is needed.

    Return None for another branch.
    """
    if not ref.startswith(BRANCHES) or NOTHING in (before, after):
        return False
    if ref.removeprefix(BRANCHES) not in working:
        return None
    command = ["git", "merge-base", "--is-ancestor", before, after]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode != 0 and not _is_first(before)


def _is_first(commit: str) -> bool:
    """Return whether the repository has only the commit with which the service created it."""
    refs = subprocess.check_output(["git", "for-each-ref", "--count=2", "--format=%(objectname)"], text=True).split()
    facts = subprocess.check_output(["git", "log", "-1", "--format=%P|%ae|%s", commit], text=True, errors="replace")
    return refs == [commit] and facts.rstrip("\n") == f"|{os.environ[BOT_EMAIL]}|{FIRST_MESSAGE}"


if __name__ == "__main__":
    sys.exit(main())
