"""Creation of the objects of a commit. No branch is moved."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from app.concurrency.threadpool import offload
from app.core import clock
from app.drivers.git.commit_plan import CommitPlan
from app.drivers.git.local.commands import write_failure
from app.drivers.git.local.object_files import write_objects
from app.drivers.git.local.tree_edit import TreeEdit
from app.drivers.git.local.trees import LocalTree
from app.drivers.git.object_ids import check_message, new_object
from app.drivers.git.port import EntryType, PathChange, Person, TreeEntry


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


@dataclass(frozen=True)
class Parent:
    """The parent of a commit and its tree."""

    commit: str
    tree: LocalTree


@dataclass(frozen=True)
class NewCommit:
    """A commit that no branch contains yet, and the new entry of each path of its plan, sorted by path."""

    sha: str
    changes: tuple[PathChange, ...]


def create_commit(
    directory: Path, plan: CommitPlan, message: str, identity: CommitIdentity, *, parent: Parent | None
) -> NewCommit:
    """Write blobs, trees and the commit. All objects are on disk when this function returns.

    Raises:
        UpstreamRejected: the message is empty or not valid text.
        DiskFull: the disk of the repositories is full.
        UpstreamError: the objects cannot be written.
    """
    check_message(message)
    edit = TreeEdit(parent.tree if parent else None)
    blobs = [new_object(EntryType.BLOB, write.content or b"") if write.sha is None else None for write in plan.written]
    entries: dict[str, TreeEntry | None] = dict.fromkeys(plan.removed)
    for path in plan.removed:
        edit.remove(path)
    for write, blob in zip(plan.written, blobs, strict=True):
        sha, size = (blob.sha, len(blob.content)) if blob is not None else (write.sha or "", write.size)
        edit.write(write.path, write.mode, sha)
        entries[write.path] = TreeEntry(write.path, EntryType.BLOB, write.mode, sha, size)
    trees = edit.objects()
    header = f"tree {trees[-1].sha}\n" + (f"parent {parent.commit}\n" if parent else "") + _people(identity)
    commit = new_object(EntryType.COMMIT, f"{header}\n{message}".encode())
    try:
        offload(write_objects, directory, [*chain(filter(None, blobs), trees), commit])
    except OSError as error:
        raise write_failure(error) from error
    return NewCommit(commit.sha, tuple(PathChange(path, entry) for path, entry in sorted(entries.items())))


def _people(identity: CommitIdentity) -> str:
    """Return the lines of the author and the committer."""
    time_s = int(clock.now().timestamp())
    people = (("author", identity.author), ("committer", identity.committer))
    return "".join(f"{role} {who.name.strip()} <{who.email.strip()}> {time_s} +0000\n" for role, who in people)
