"""Differences of file contents, made with `git diff --no-index`, so that they are equal for all hosts."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.drivers.git.local.commands import fields, run
from app.drivers.git.local.trees import utf8
from app.drivers.git.revisions import FileDifference, FileStatus

TIMEOUT_S = 20.0
BINARY_WINDOW = 8000
"""Git reads a file as binary if one of its first 8,000 bytes is NUL."""

_NO_REPOSITORY = Path(os.devnull)
_OPTIONS = ("diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "-M")
_ABSENT = "/dev/null"


def is_binary(data: bytes) -> bool:
    """Return whether Git reads a content as binary."""
    return b"\0" in data[:BINARY_WINDOW]


def unified_diff(old: bytes, new: bytes) -> bytes:
    """Return the hunks of `git diff` with three lines of context, or nothing if the contents are equal or binary."""
    with tempfile.TemporaryDirectory(prefix="galley-diff-") as folder:
        before, after = Path(folder, "a"), Path(folder, "b")
        before.write_bytes(old)
        after.write_bytes(new)
        output = _run("--unified=3", str(before), str(after))
    start = output.find(b"\n@@ ")
    return output[start + 1 :] if start >= 0 else b""


def compare_contents(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[FileDifference]:
    """Compare two sets of files by path. The paths must be valid."""
    with tempfile.TemporaryDirectory(prefix="galley-diff-") as folder:
        sides = [Path(folder, "a"), Path(folder, "b")]
        for side, files in zip(sides, (old, new), strict=True):
            side.mkdir()
            for path, content in files.items():
                location = side / path
                location.parent.mkdir(parents=True, exist_ok=True)
                location.write_bytes(content)
        output = _run("--numstat", "-z", *map(str, sides))
        return list(_differences(output, *(f"{side}/" for side in sides)))


def _run(*arguments: str) -> bytes:
    return run(_NO_REPOSITORY, *_OPTIONS, *arguments, timeout_s=TIMEOUT_S, accepts=(0, 1)).stdout


def _differences(output: bytes, before: str, after: str) -> Iterator[FileDifference]:
    records = fields([output])
    for record in records:
        additions, deletions, _ = record.split(b"\t", 2)
        old, new = (utf8(next(records)) or _ABSENT for _ in range(2))
        counts = [None if text == b"-" else int(text) for text in (additions, deletions)]
        previous, path = (None if name == _ABSENT else name for name in (old, new))
        previous, path = previous and previous.removeprefix(before), path and path.removeprefix(after)
        if path is None:
            yield FileDifference(previous or "", None, FileStatus.REMOVED, *counts)
        elif previous is None:
            yield FileDifference(path, None, FileStatus.ADDED, *counts)
        elif previous == path:
            yield FileDifference(path, None, FileStatus.MODIFIED, *counts)
        else:
            yield FileDifference(path, previous, FileStatus.RENAMED, *counts)
