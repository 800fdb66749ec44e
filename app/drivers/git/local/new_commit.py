"""Creation of the objects of a commit: the changed trees, then the commit. No branch is moved.

Objects are written as files of their own if they are few (loose), else as packs. Git writes the same files. The data of
all of them is on disk before any gets its final name, as with `core.fsync`. The update of a ref that follows writes the
names to disk. Packs and their indexes have version 2, without deltas: see gitformat-pack(5).
"""

import errno
import hashlib
import os
import secrets
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

from app.concurrency.threadpool import offload
from app.core import clock
from app.drivers.git.commit_plan import CommitPlan
from app.drivers.git.local.commands import write_failure
from app.drivers.git.local.trees import FOLDER, FOLDER_MODES, Entries, LocalTree
from app.drivers.git.object_ids import GitObject, check_message, new_object, object_header
from app.drivers.git.port import EntryType, PathChange, Person, TreeEntry

# Each file costs an fsync. `git gc` joins packs if there are more than 50, and loose objects if there are more than
# 2,000.
MAX_LOOSE = 16
MAX_PACK_BYTES = 1 << 30
# Git compresses loose objects at this level.
COMPRESSION = 1
ATTEMPTS = 5
_TYPES = {"commit": 1, "tree": 2, "blob": 3}
_INDEX_HEADER = b"\xfftOc\0\0\0\2"
_FOLDER_MODE = b"40000"
_ROOT = b""


def write_objects(directory: Path, objects: Iterable[GitObject]) -> None:
    """Write the objects to a repository. Blocks and logs nothing: call it in a thread. Raises OSError."""
    unique = list({item.sha: item for item in objects}.values())
    if len(unique) <= MAX_LOOSE:
        _write_loose(directory / "objects", unique)
    else:
        for part in _parts(unique):
            _write_pack(directory / "objects/pack", part)


def _write_loose(folder: Path, objects: Iterable[GitObject]) -> None:
    existing: list[GitObject] = []
    with _NewFiles(folder) as files:
        for item in objects:
            path, content = _path(folder, item), object_header(item.type, item.content) + item.content
            if _refresh(path, content):
                existing.append(item)
            else:
                files.open("tmp_obj_").write(zlib.compress(content, COMPRESSION))
                files.name(path)
        files.publish()
    # `git gc` may have read the old time of an object before the refresh.
    if deleted := [item for item in existing if not _path(folder, item).exists()]:
        _write_loose(folder, deleted)


def _path(folder: Path, item: GitObject) -> Path:
    return folder / item.sha[:2] / item.sha[2:]


def _refresh(path: Path, content: bytes) -> bool:
    """Return whether a loose object exists and is complete.

    Its new time protects it from `git gc`, which deletes old unreferenced objects. A power failure can damage it.
    """
    with suppress(FileNotFoundError, zlib.error):
        os.utime(path)
        return zlib.decompressobj().decompress(path.read_bytes(), len(content) + 1) == content
    return False


def _write_pack(folder: Path, objects: Sequence[GitObject]) -> None:
    """Write a pack and its index. Git reads a pack when its index exists, so the index gets its name last."""
    folder.mkdir(exist_ok=True)
    with _NewFiles(folder) as files:
        name, entries = write_pack(files.open("tmp_pack_"), objects, COMPRESSION)
        files.name(folder / f"pack-{name.hex()}.pack")
        write_index(files.open("tmp_idx_"), name, entries)
        files.name(folder / f"pack-{name.hex()}.idx")
        files.publish()


def _parts(objects: Iterable[GitObject]) -> Iterator[list[GitObject]]:
    """Yield the objects of each pack. The index stores positions below 2 GiB."""
    part, size = list[GitObject](), 0
    for item in objects:
        if part and size + len(item.content) > MAX_PACK_BYTES:
            yield part
            part, size = [], 0
        part.append(item)
        size += len(item.content)
    yield part


class _NewFiles:
    """Temporary files of one folder that get their names together. `git gc` deletes those of a killed process."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, ExitStack()
        self._files: list[tuple[IO[bytes], Path]] = []
        self._names: list[Path] = []

    def __enter__(self) -> "_NewFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, prefix: str) -> IO[bytes]:
        """Open a new file that only this process knows. As in Git, it cannot be changed later."""
        path = self._folder / f"{prefix}{secrets.token_hex(8)}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        self._stack.callback(path.unlink, missing_ok=True)
        file = self._stack.enter_context(os.fdopen(descriptor, "wb"))
        self._files.append((file, path))
        return file

    def name(self, path: Path) -> None:
        """Set the final path of the file that was opened last."""
        self._names.append(path)

    def publish(self) -> None:
        """Write the data of all files to disk, then give them their names in order."""
        for file, _ in self._files:
            file.flush()
        for file, _ in self._files:
            os.fsync(file.fileno())
        for (_, source), path in zip(self._files, self._names, strict=True):
            _rename(source, path)


def _rename(source: Path, path: Path) -> None:
    """Rename a file. `git gc` may remove an empty folder between its creation and its use."""
    for _ in range(ATTEMPTS):
        with suppress(FileExistsError):  # `exist_ok` raises if the folder is removed between the two steps of `mkdir`.
            path.parent.mkdir()
        with suppress(FileNotFoundError):
            source.replace(path)
            return
    raise FileNotFoundError(errno.ENOENT, "The file cannot be renamed", path)


class PackEntry(NamedTuple):
    """The position of an object in a pack, and the checksum of its packed bytes."""

    sha: bytes
    checksum: int
    position: int


def write_pack(file: IO[bytes], objects: Sequence[GitObject], level: int) -> tuple[bytes, list[PackEntry]]:
    """Write a pack. Return its hash, which is also its name, and its entries."""
    entries: list[PackEntry] = []
    header = b"PACK" + struct.pack(">II", 2, len(objects))
    digest, position = hashlib.sha1(header, usedforsecurity=False), file.write(header)
    for item in objects:
        data = _entry_header(item) + zlib.compress(item.content, level)
        entries.append(PackEntry(bytes.fromhex(item.sha), zlib.crc32(data), position))
        digest.update(data)
        position += file.write(data)
    file.write(digest.digest())
    return digest.digest(), entries


def write_index(file: IO[bytes], name: bytes, entries: Iterable[PackEntry]) -> None:
    """Write the index of a pack below 2 GiB: counts by first byte, ids, checksums and positions, sorted by id."""
    ordered = sorted(entries)
    first_bytes = [entry.sha[0] for entry in ordered]
    counts = [bisect_right(first_bytes, byte) for byte in range(256)]
    count = len(ordered)
    data = b"".join(
        (
            _INDEX_HEADER,
            struct.pack(">256I", *counts),
            *(entry.sha for entry in ordered),
            struct.pack(f">{count}I", *(entry.checksum for entry in ordered)),
            struct.pack(f">{count}I", *(entry.position for entry in ordered)),
            name,
        )
    )
    file.write(data + hashlib.sha1(data, usedforsecurity=False).digest())


def _entry_header(item: GitObject) -> bytes:
    """Return the type and the size: 4 bits of the size in the first byte, 7 in each further byte."""
    size = len(item.content)
    byte, size = _TYPES[item.type] << 4 | size & 0x0F, size >> 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    header.append(byte)
    return bytes(header)


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
class Parents:
    """The parents of a commit and the tree of the last one, to which its changes apply."""

    commits: tuple[str, ...]
    tree: LocalTree


@dataclass(frozen=True)
class NewCommit:
    """A commit that no branch contains yet, and the new entry of each path of its plan, sorted by path."""

    sha: str
    changes: tuple[PathChange, ...]


def create_commit(
    directory: Path, plan: CommitPlan, message: str, identity: CommitIdentity, *, parents: Parents | None
) -> NewCommit:
    """Write blobs, trees and the commit. All objects are on disk when this function returns.

    Raises:
        UpstreamRejected: the message is empty or not valid text.
        DiskFull: the disk of the repositories is full.
        UpstreamError: the objects cannot be written.
    """
    check_message(message)
    edit = TreeEdit(parents.tree if parents else None)
    blobs = [new_object(EntryType.BLOB, write.content or b"") if write.sha is None else None for write in plan.written]
    entries: dict[str, TreeEntry | None] = dict.fromkeys(plan.removed)
    for path in plan.removed:
        edit.remove(path)
    for write, blob in zip(plan.written, blobs, strict=True):
        sha, size = (blob.sha, len(blob.content)) if blob is not None else (write.sha or "", write.size)
        edit.write(write.path, write.mode, sha)
        entries[write.path] = TreeEntry(write.path, EntryType.BLOB, write.mode, sha, size)
    trees = edit.objects()
    lines = "".join(f"parent {sha}\n" for sha in (parents.commits if parents else ()))
    header = f"tree {trees[-1].sha}\n{lines}{_people(identity)}"
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


class TreeEdit:
    """Copies of the changed folders of a tree. `tree` is None for the first commit of a repository."""

    def __init__(self, tree: LocalTree | None) -> None:
        self._tree = tree
        self._folders: dict[bytes, Entries] = {_ROOT: dict(tree.root()) if tree is not None else {}}

    def remove(self, path: str) -> None:
        above, _, name = path.encode().rpartition(b"/")
        self._folder(above).pop(name, None)

    def write(self, path: str, mode: str, sha: str) -> None:
        """Set the blob of a path. It replaces a folder, whose files were removed."""
        location = path.encode()
        if location in self._folders:
            for folder in [known for known in self._folders if known == location or known.startswith(location + b"/")]:
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
