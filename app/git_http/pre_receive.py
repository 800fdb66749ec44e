"""The program of the `pre-receive` hook, which `git receive-pack` starts in the folder of the repository.

It reads the received commits in a separate process, because the client decides their number. Then it asks the
service for permission. It imports only the standard library and the rules of paths.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.core.paths import path_error

SOCKET = "GALLEY_HOOK_SOCKET"
"""Variable with the path of the socket of the service."""

BRANCHES = "refs/heads/"
NOTHING = "0" * 40
SYMLINK, REMOVED = b"120000", b"000000"
MAX_TARGET_BYTES = 4096
MAX_SHOWN, MAX_PATH_CHARACTERS = 10, 100
PIECE_BYTES = 1 << 16
ANSWER_S = 60
UNREADABLE = "The received commits cannot be read"
NOT_AVAILABLE = "The service is not available. Try again shortly"


@dataclass(frozen=True)
class ReceivedEntry:
    """A file, link or submodule that a received commit adds or changes."""

    path: str
    mode: bytes
    sha: bytes


def main() -> int:
    """Check a push. Return 0 if the service permits it. Otherwise write the reasons for the user of the client."""
    try:
        reasons = _reasons()
    except (OSError, ValueError, subprocess.SubprocessError, RuntimeError):
        reasons = [UNREADABLE]
    shown = [*reasons[:MAX_SHOWN], *([f"… and {len(reasons) - MAX_SHOWN:,} more"] if len(reasons) > MAX_SHOWN else [])]
    sys.stderr.writelines(f"{line}\n" for line in shown)
    return 1 if reasons else 0


def _reasons() -> list[str]:
    updates = [line.rstrip(b"\n").decode(errors="replace").split(" ", 2) for line in sys.stdin.buffer]
    commits = sorted({after for _, after, _ in updates if after != NOTHING})
    reasons = [*_objects_without_commit(commits)] or [*_faults(_new_entries(commits))]
    return reasons or _ask(updates)


def _git(*arguments: str, data: bytes) -> bytes:
    return subprocess.run(["git", *arguments], input=data, stdout=subprocess.PIPE, check=True).stdout


def _objects_without_commit(shas: Sequence[str]) -> Iterator[str]:
    lines = "".join(f"{sha}^{{commit}}\n" for sha in shas).encode()
    for sha, line in zip(shas, _git("cat-file", "--batch-check", data=lines).splitlines(), strict=True):
        if line.endswith(b" missing"):
            yield f"{sha}: Branches and tags must name a commit"


def _new_entries(commits: Sequence[str]) -> Iterator[ReceivedEntry]:
    """Yield the entries of all commits that no branch or tag contains. Merges yield what differs from all parents."""
    # The commits are a file: this process cannot write to one command and read from the other at the same time.
    with tempfile.TemporaryFile() as file:
        file.writelines(f"{sha}\n".encode() for sha in commits)
        file.seek(0)
        listed = subprocess.Popen(["git", "rev-list", "--stdin", "--not", "--all"], stdin=file, stdout=subprocess.PIPE)
    options = ("--stdin", "-r", "-c", "-z", "--raw", "--root", "--no-commit-id", "--no-renames", "--no-abbrev")
    compared = subprocess.Popen(["git", "diff-tree", *options], stdin=listed.stdout, stdout=subprocess.PIPE)
    records = _fields(_read(compared))
    for header in records:
        path = next(records)
        parents = len(header) - len(header.lstrip(b":"))
        parts = header[parents:].split(b" ")
        mode, sha = parts[parents], parts[2 * parents + 1]
        if mode != REMOVED:
            yield ReceivedEntry(path.decode(errors="surrogateescape"), mode, sha)
    if listed.wait() or compared.wait():
        raise RuntimeError(UNREADABLE)


def _read(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    while process.stdout is not None and (piece := process.stdout.read(PIECE_BYTES)):
        yield piece


def _fields(pieces: Iterable[bytes]) -> Iterator[bytes]:
    incomplete = b""
    for piece in pieces:
        *complete, incomplete = (incomplete + piece).split(b"\0")
        yield from complete


def _faults(entries: Iterable[ReceivedEntry]) -> Iterator[str]:
    """Yield the invalid paths, and the symbolic links that are absolute or lead out of the repository."""
    checked: set[str] = set()
    links: dict[bytes, list[str]] = {}
    for entry in entries:
        if entry.mode == SYMLINK:
            links.setdefault(entry.sha, []).append(entry.path)
        if entry.path not in checked and (error := path_error(entry.path)) is not None:
            yield f"{_shown(entry.path)}: {error}"
        checked.add(entry.path)
    for sha, target in _targets(list(links)):
        for path in dict.fromkeys(links[sha]):
            if target is None or not stays_inside(path, target):
                yield f"{_shown(path)}: The symbolic link must lead to a path of the repository"


def _shown(path: str) -> str:
    """Return a path for a terminal, without control characters and not longer than a line."""
    return ascii(path if len(path) <= MAX_PATH_CHARACTERS else f"{path[:MAX_PATH_CHARACTERS]}...")


def _targets(shas: Sequence[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the text of each link. None for a text that is too long for a path."""
    lines = b"".join(sha + b"\n" for sha in shas)
    sizes = {
        line.split()[0]: int(line.split()[2]) for line in _git("cat-file", "--batch-check", data=lines).splitlines()
    }
    short = [sha for sha in shas if sizes[sha] <= MAX_TARGET_BYTES]
    yield from ((sha, None) for sha in shas if sizes[sha] > MAX_TARGET_BYTES)
    output, position = _git("cat-file", "--batch", data=b"".join(sha + b"\n" for sha in short)), 0
    for sha in short:
        position = output.index(b"\n", position) + 1
        yield sha, output[position : position + sizes[sha]]
        position += sizes[sha] + 1


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
    request = [[ref, before, after, _is_rewrite(before, after, ref)] for before, after, ref in updates]
    try:
        with socket.socket(socket.AF_UNIX) as service:
            service.settimeout(ANSWER_S)
            service.connect(os.environ[SOCKET])
            service.sendall(json.dumps(request).encode() + b"\n")
            with service.makefile("rb") as answer:
                reasons: list[str] = json.loads(answer.readline())
    except (OSError, ValueError):
        return [NOT_AVAILABLE]
    return reasons


def _is_rewrite(before: str, after: str, ref: str) -> bool:
    if not ref.startswith(BRANCHES) or NOTHING in (before, after):
        return False
    command = ["git", "merge-base", "--is-ancestor", before, after]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode != 0


if __name__ == "__main__":
    sys.exit(main())
