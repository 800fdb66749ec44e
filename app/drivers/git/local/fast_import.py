"""Creation of commits with `git fast-import`. No branch is moved."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

from app.core import clock
from app.drivers.errors import UpstreamRejected
from app.drivers.git.commit_plan import CommitPlan, FileWrite
from app.drivers.git.local.commands import DiskFull, GitFailed, run
from app.drivers.git.port import EntryType, PathChange, Person, TreeEntry

# fast-import requires a branch. The final reset to the null id prevents its creation, so no temporary ref remains after
# a crash. The new objects are unreferenced until `update-ref`.
_BRANCH = b"refs/galley/import"


@dataclass(frozen=True)
class Imported:
    """A commit that no branch contains yet, and the blob of every written file in order."""

    commit: str
    blobs: tuple[str, ...]

    def changes(self, plan: CommitPlan) -> list[PathChange]:
        """Return the new entry of each path of the plan, sorted by path."""
        entries: dict[str, TreeEntry | None] = dict.fromkeys(plan.removed)
        for write, sha in zip(plan.written, self.blobs, strict=True):
            size = write.size if write.content is None else len(write.content)
            entries[write.path] = TreeEntry(write.path, EntryType.BLOB, write.mode, sha, size)
        return [PathChange(path, entry) for path, entry in sorted(entries.items())]


@dataclass(frozen=True)
class CommitIdentity:
    """The author and the committer of a commit.

    Raises:
        ValueError: a name or an e-mail is empty or contains a character that would end the header line.
    """

    author: Person
    committer: Person

    def __post_init__(self) -> None:
        check_person(self.author)
        check_person(self.committer)


def check_person(person: Person) -> None:
    """Refuse a name or e-mail that would end the header line of a commit. Raises ValueError."""
    for text in (person.name, person.email):
        if not text.strip() or set(text) & set("\r\n\0<>"):
            raise ValueError("name and e-mail must not be empty or contain line breaks, NUL, < or >")


def import_commit(
    directory: Path, plan: CommitPlan, message: str, identity: CommitIdentity, *, parent: str | None, timeout_s: float
) -> Imported:
    """Write blobs, trees and the commit. All objects are on disk when this function returns.

    Raises:
        UpstreamRejected: the message is not valid text.
    """
    stream = _stream(plan, _text(message), _header(identity), parent)
    try:
        done = run(directory, "fast-import", "--quiet", "--date-format=raw", "--done", timeout_s=timeout_s, data=stream)
    except (GitFailed, DiskFull):
        _remove_crash_reports(directory)
        raise
    *blobs, commit = done.stdout.decode().split()
    created = iter(blobs)
    return Imported(commit, tuple(write.sha or next(created) for write in plan.written))


def _stream(plan: CommitPlan, message: bytes, header: bytes, parent: str | None) -> list[bytes]:
    """Return the input of fast-import: blobs with marks, the commit, and `get-mark` commands for the shas."""
    new = [write for write in plan.written if write.sha is None]
    parts: list[bytes] = []
    for mark, write in enumerate(new, 1):
        parts += [b"blob\nmark :%d\n" % mark, *_data(write.content or b"")]
    parts += [b"commit %s\nmark :%d\n" % (_BRANCH, len(new) + 1), header, *_data(message)]
    if parent:
        parts.append(f"from {parent}\n".encode())
    parts += [b"D %s\n" % _quoted(path) for path in plan.removed]
    marks = count(1)
    parts += [_modify(write, write.sha or f":{next(marks)}") for write in plan.written]
    parts += [b"\n", *(b"get-mark :%d\n" % mark for mark in range(1, len(new) + 2))]
    return [*parts, b"reset %s\n\ndone\n" % _BRANCH]


def _modify(write: FileWrite, blob: str) -> bytes:
    return f"M {write.mode} {blob} ".encode() + _quoted(write.path) + b"\n"


def _quoted(path: str) -> bytes:
    """Quote a path for fast-import. The path rule excludes control characters."""
    return b'"%s"' % path.replace("\\", "\\\\").replace('"', '\\"').encode()


def _data(content: bytes) -> tuple[bytes, bytes, bytes]:
    return b"data %d\n" % len(content), content, b"\n"


def _header(identity: CommitIdentity) -> bytes:
    """Return the lines of the author and the committer."""
    time_s = int(clock.now().timestamp())
    people = (("author", identity.author), ("committer", identity.committer))
    return "".join(f"{role} {who.name.strip()} <{who.email.strip()}> {time_s} +0000\n" for role, who in people).encode()


def _text(message: str) -> bytes:
    if "\0" in message:
        raise UpstreamRejected("The commit message must not contain NUL", code="INVALID_MESSAGE")
    try:
        return message.encode()
    except UnicodeEncodeError as fault:
        raise UpstreamRejected("The commit message is not valid Unicode", code="INVALID_MESSAGE") from fault


def _remove_crash_reports(directory: Path) -> None:
    for report in directory.glob("fast_import_crash_*"):
        report.unlink(missing_ok=True)
