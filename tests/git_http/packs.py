"""Packs that no Git client would send, and their pushes as single requests."""

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.git_http.client import Reply, Site

NOTHING = "0" * 40
PERSON = "Ada Author <ada@mail.example.org> 1700000000 +0000"
COMMIT, TREE, BLOB, TAG, REF_DELTA = 1, 2, 3, 4, 7
NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}
MIB = 1 << 20
BASE = bytes(16 * MIB - 1)
"""The base of deltas. One instruction of 8 bytes copies all of it."""


class Pack:
    """A pack that grows by objects. Each method returns the name of its object."""

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}

    def blob(self, content: bytes) -> str:
        return self._add(BLOB, content)

    def tree(self, entries: Mapping[str, tuple[str, str]]) -> str:
        """Add a folder: name → mode and sha."""
        parts = [f"{mode} {name}\0".encode() + bytes.fromhex(sha) for name, (mode, sha) in sorted(entries.items())]
        return self._add(TREE, b"".join(parts))

    def folder(self, names: Iterable[str], sha: str, *, mode: str = "40000") -> str:
        """Add a folder that has the same object under all names."""
        return self.tree(dict.fromkeys(names, (mode, sha)))

    def commit(self, tree: str, *parents: str, message: str = "Edit") -> str:
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {PERSON}", f"committer {PERSON}"]
        return self._add(COMMIT, ("\n".join(lines) + f"\n\n{message}\n").encode())

    def tag(self, commit: str, *, message: str) -> str:
        return self._add(TAG, f"object {commit}\ntype commit\ntag v1\ntagger {PERSON}\n\n{message}\n".encode())

    def zeros(self, size: int) -> None:
        """Add a file of zeros, which is never in memory."""
        packer, pieces = zlib.compressobj(), [_header(BLOB, size)]
        for start in range(0, size, MIB):
            pieces.append(packer.compress(bytes(min(MIB, size - start))))
        packed = b"".join([*pieces, packer.flush()])
        self._entries[hashlib.sha1(packed, usedforsecurity=False).hexdigest()] = packed

    def expanding_delta(self, copies: int, tail: bytes = b"a") -> None:
        """Add a delta of a few bytes whose object consists of `copies` times 16 MiB."""
        base = self.blob(BASE)
        instructions = b"\xf0\xff\xff\xff" * copies + bytes([len(tail)]) + tail
        delta = _number(len(BASE)) + _number(len(BASE) * copies + len(tail)) + instructions
        packed = _header(REF_DELTA, len(delta)) + bytes.fromhex(base) + zlib.compress(delta)
        self._entries[hashlib.sha1(packed, usedforsecurity=False).hexdigest()] = packed

    def data(self) -> bytes:
        """Return the pack."""
        content = b"PACK" + struct.pack(">II", 2, len(self._entries)) + b"".join(self._entries.values())
        return content + hashlib.sha1(content, usedforsecurity=False).digest()

    def _add(self, kind: int, content: bytes) -> str:
        sha = hashlib.sha1(NAMES[kind] + b" %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        if sha not in self._entries:
            self._entries[sha] = _header(kind, len(content)) + zlib.compress(content)
        return sha


def _header(kind: int, size: int) -> bytes:
    first, size = kind << 4 | size & 15, size >> 4
    header = bytearray()
    while size:
        header.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    return bytes([*header, first])


def _number(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def push(site: Site, token: str, updates: Sequence[tuple[str, str, str]], pack: Pack | None = None) -> Reply:
    """Send updates (the commits before and after, and the ref) and a pack as one request."""
    lines = [f"{before} {after} {ref}" for before, after, ref in updates]
    lines[0] += "\0report-status side-band-64k"
    body = b"".join(b"%04x" % (len(line.encode()) + 5) + line.encode() + b"\n" for line in lines) + b"0000"
    headers = {"Content-Type": "application/x-git-receive-pack-request"}
    path = f"/git/{site.repository}.git/git-receive-pack"
    reply = site.send("POST", path, body + (pack.data() if pack is not None else b""), token=token, headers=headers)
    return reply._replace(text="".join(_messages(reply.text)))


def _messages(text: str) -> Iterator[str]:
    """Yield the texts of a response, without the lengths and numbers before them."""
    data, position = text.encode(), 0
    while (size := int(data[position : position + 4] or b"0", 16)) > 4:
        yield data[position + 5 : position + size].decode(errors="replace")
        position += size
