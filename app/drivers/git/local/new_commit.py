"""Creation of the objects of a commit: the changed trees, then the commit. No branch is moved."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from app.concurrency.threadpool import offload
from app.core import clock
from app.drivers.git.commit_plan import CommitPlan
from app.drivers.git.local.commands import write_failure
from app.drivers.git.local.object_files import write_objects
from app.drivers.git.local.trees import FOLDER, FOLDER_MODES, Entries, LocalTree
from app.drivers.git.object_ids import GitObject, check_message, new_object
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


_FOLDER_MODE = b"40000"
_ROOT = b""


class TreeEdit:
    """Copies of the changed folders of a tree. `tree` is None for the first commit of a repository."""

    def __init__(self, tree: LocalTree | None) -> None:
        self._tree = tree
        self._folders: dict[bytes, Entries] = {_ROOT: dict(tree.root()) if tree is not None else {}}

    def remove(self, path: str) -> None:
        """Remove a file."""
        above, _, name = path.encode().rpartition(b"/")
        self._folder(above).pop(name, None)

    def write(self, path: str, mode: str, sha: str) -> None:
        """Set the blob of a path. It replaces a folder, whose files were removed."""
        location = path.encode()
        if location in self._folders:
            for folder in [one for one in self._folders if one == location or one.startswith(location + b"/")]:
                del self._folders[folder]
        above, _, name = location.rpartition(b"/")
        self._folder(above)[name] = mode.encode(), bytes.fromhex(sha)

    def objects(self) -> list[GitObject]:
        """Return the objects of the changed folders. The root is the last one. A folder without entries is removed."""
        created: list[GitObject] = []
        for path in sorted(self._folders, key=lambda path: path.count(b"/") if path else -1, reverse=True):
            entries = self._folders[path]
            if entries or path == _ROOT:
                created.append(new_object(FOLDER, _content(entries)))
            if path == _ROOT:
                continue
            above, _, name = path.rpartition(b"/")
            if entries:
                self._folders[above][name] = _FOLDER_MODE, bytes.fromhex(created[-1].sha)
            else:
                self._folders[above].pop(name, None)
        return created

    def _folder(self, path: bytes) -> Entries:
        """Return the entries of a folder, which need not exist."""
        folder, above = self._folders[_ROOT], _ROOT
        for name in path.split(b"/") if path else ():
            location = above + b"/" + name if above else name
            if location not in self._folders:
                mode, sha = folder.get(name, (b"", b""))
                stored = self._tree.folder(sha.hex()) if self._tree and mode in FOLDER_MODES else {}
                self._folders[location] = dict(stored)
            folder, above = self._folders[location], location
        return folder


def _content(entries: Entries) -> bytes:
    """Return the content of a tree object. Git sorts a folder as if its name ended with a slash."""
    ordered = sorted(entries.items(), key=lambda item: item[0] + b"/" if item[1][0] in FOLDER_MODES else item[0])
    return b"".join(b"%s %s\0%s" % (mode, name, sha) for name, (mode, sha) in ordered)
