"""Differences of file contents, made with `git diff --no-index`, so that they are equal for all hosts."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from app.content.sequence_diff import RangeChange
from app.content.text import count_lines
from app.drivers.errors import UpstreamTimeout
from app.drivers.git.local.commands import fields, run
from app.drivers.git.local.trees import utf8
from app.drivers.git.revisions import FileDifference, FileStatus

TIMEOUT_S = 20.0
PAIR_TIMEOUT_S = 5.0
"""After this time, all lines of a file count as changed. Git needs longer for some megabytes of short lines in another
order, but not for edits of an article."""
MAX_CHANGES = 5_000
BINARY_WINDOW = 8000
"""Git reads a file as binary if one of its first 8,000 bytes is NUL."""

_NO_REPOSITORY = Path(os.devnull)
_OPTIONS = ("diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "-M")
_ABSENT = "/dev/null"
_HUNK = re.compile(rb"\n@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def is_binary(data: bytes) -> bool:
    """Return whether Git reads a content as binary."""
    return b"\0" in data[:BINARY_WINDOW]


def unified_diff(old: bytes, new: bytes, *, as_text: bool = False, timeout_s: float = PAIR_TIMEOUT_S) -> bytes:
    """Return the hunks of `git diff` with three lines of context, or nothing if the contents are equal or binary.

    With `as_text`, no content is binary. After `timeout_s`, one hunk replaces all lines.
    """
    try:
        output = _compare_pair(old, new, "--unified=3", *(["--text"] if as_text else []), timeout_s=timeout_s)
    except UpstreamTimeout:
        return replacing_hunk(old, new)
    start = output.find(b"\n@@ ")
    return output[start + 1 :] if start >= 0 else b""


def replacing_hunk(old: bytes, new: bytes) -> bytes:
    """Return the hunk that replaces all lines."""
    ranges = [f"{min(count, 1)},{count}" for count in (count_lines(old), count_lines(new))]
    return f"@@ -{ranges[0]} +{ranges[1]} @@\n".encode() + _signed(b"-", old) + _signed(b"+", new)


def _signed(sign: bytes, content: bytes) -> bytes:
    if not content:
        return b""
    lines = sign + content.removesuffix(b"\n").replace(b"\n", b"\n" + sign) + b"\n"
    return lines if content.endswith(b"\n") else lines + b"\\ No newline at end of file\n"


def changed_lines(old: str, new: str, *, timeout_s: float = PAIR_TIMEOUT_S) -> list[RangeChange]:
    """Return the changed lines of a text.

    After `timeout_s` or above `MAX_CHANGES` changes, all lines are one change.
    """
    if old == new:
        return []
    before, after = old.encode(), new.encode()
    headings: list[re.Match[bytes]] = []
    with suppress(UpstreamTimeout):
        output = _compare_pair(before, after, "--unified=0", "--text", timeout_s=timeout_s)
        headings = list(islice(_HUNK.finditer(output), MAX_CHANGES + 1))
    if not 0 < len(headings) <= MAX_CHANGES:
        return [RangeChange(0, count_lines(before), 0, count_lines(after))]
    return [RangeChange(*_lines(*heading.group(1, 2)), *_lines(*heading.group(3, 4))) for heading in headings]


def _lines(start: bytes, count: bytes | None) -> tuple[int, int]:
    """Return the range of a hunk from 0. If it contains no line, Git names the line before it."""
    length = 1 if count is None else int(count)
    first = int(start) - (length > 0)
    return first, first + length


def _compare_pair(old: bytes, new: bytes, *options: str, timeout_s: float) -> bytes:
    with tempfile.TemporaryDirectory(prefix="galley-diff-") as folder:
        before, after = Path(folder, "a"), Path(folder, "b")
        before.write_bytes(old)
        after.write_bytes(new)
        return _run(*options, str(before), str(after), timeout_s=timeout_s)


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
        output = _run("--numstat", "-z", *map(str, sides), timeout_s=TIMEOUT_S)
        return list(_differences(output, *(f"{side}/" for side in sides)))


def _run(*arguments: str, timeout_s: float) -> bytes:
    return run(_NO_REPOSITORY, *_OPTIONS, *arguments, timeout_s=timeout_s, accepts=(0, 1)).stdout


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
