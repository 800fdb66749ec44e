"""Writing objects with `git fast-import`; moves no branch."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

from app.core import clock
from app.drivers.errors import Rejected
from app.drivers.git.local_commands import GitFailed, run
from app.drivers.git.plan import Plan, Write
from app.drivers.git.port import Person

# fast-import wants a branch to commit on. Resetting it to nothing before the end makes it write none, so that there is
# no private ref to clean up after a crash: the new objects just lie there until `update-ref` names them.
_BRANCH = b"refs/galley/import"


@dataclass(frozen=True)
class Imported:
    """A commit that no branch names yet, and the blob of every plan's write, in order."""

    commit: str
    blobs: tuple[str, ...]


def check_person(person: Person) -> None:
    """Refuse a name or e-mail that would break out of a commit's header. Raises ValueError."""
    for text in (person.name, person.email):
        if not text.strip() or set(text) & set("\r\n\0<>"):
            raise ValueError("a name and an e-mail must be given, without line breaks, NUL, < and >")


def import_commit(
    directory: Path, plan: Plan, message: str, bot: Person, *, parent: str | None, timeout_s: float
) -> Imported:
    """Write blobs, trees and the commit; all of it is on disk when this returns.

    Raises:
        Rejected: the message is not valid text.
    """
    stream = _stream(plan, _text(message), bot, parent)
    try:
        done = run(directory, "fast-import", "--quiet", "--date-format=raw", "--done", timeout_s=timeout_s, data=stream)
    except GitFailed:
        _remove_crash_reports(directory)
        raise
    *blobs, commit = done.stdout.decode().split()
    made = iter(blobs)
    return Imported(commit, tuple(write.sha or next(made) for write in plan.written))


def _stream(plan: Plan, message: bytes, bot: Person, parent: str | None) -> bytes:
    """The whole input: blobs under marks, the commit, and questions for the names of what was written."""
    new = [write for write in plan.written if write.sha is None]
    parts: list[bytes] = []
    for mark, write in enumerate(new, 1):
        parts += [b"blob\nmark :%d\n" % mark, *_data(write.content or b"")]
    parts += [b"commit %s\nmark :%d\n" % (_BRANCH, len(new) + 1), _committer(bot), *_data(message)]
    if parent:
        parts.append(f"from {parent}\n".encode())
    parts += [b"D %s\n" % _quoted(path) for path in plan.removed]
    marks = count(1)
    parts += [_modify(write, write.sha or f":{next(marks)}") for write in plan.written]
    parts += [b"\n", *(b"get-mark :%d\n" % mark for mark in range(1, len(new) + 2))]
    return b"".join([*parts, b"reset %s\n\ndone\n" % _BRANCH])


def _modify(write: Write, blob: str) -> bytes:
    return f"M {write.mode} {blob} ".encode() + _quoted(write.path) + b"\n"


def _quoted(path: str) -> bytes:
    """A path as fast-import reads it whatever it holds (the path rule leaves no control characters)."""
    return b'"%s"' % path.replace("\\", "\\\\").replace('"', '\\"').encode()


def _data(content: bytes) -> tuple[bytes, bytes, bytes]:
    return b"data %d\n" % len(content), content, b"\n"


def _committer(bot: Person) -> bytes:
    return f"committer {bot.name.strip()} <{bot.email.strip()}> {int(clock.now().timestamp())} +0000\n".encode()


def _text(message: str) -> bytes:
    if "\0" in message:
        raise Rejected("The commit message must not hold NUL", code="INVALID_MESSAGE")
    try:
        return message.encode()
    except UnicodeEncodeError as fault:
        raise Rejected("The commit message is not valid Unicode", code="INVALID_MESSAGE") from fault


def _remove_crash_reports(directory: Path) -> None:
    for report in directory.glob("fast_import_crash_*"):
        report.unlink(missing_ok=True)
