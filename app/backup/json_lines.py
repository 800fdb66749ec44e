"""Files of JSON lines that are compressed and hashed while they are written and read, block by block."""

import hashlib
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from app.backup.manifest import BackupError, Section

MODULUS = 1 << 256
LEVEL = 3


class LineDigest:
    """A counter of lines and the sum of their hashes. The order of the lines does not matter."""

    def __init__(self) -> None:
        self.lines, self._sum = 0, 0

    def add(self, line: bytes) -> None:
        """Add a line without its line feed."""
        self.lines += 1
        self._sum = (self._sum + int.from_bytes(hashlib.sha256(line).digest(), "big")) % MODULUS

    @property
    def sha256(self) -> str:
        """Return the sum in hexadecimal form."""
        return f"{self._sum:064x}"

    def matches(self, section: Section) -> bool:
        """Return whether the number and the sum equal those of a section."""
        return (self.lines, self.sha256) == (section.lines, section.lines_sha256)


class HashingWriter:
    """A file that hashes and counts the written bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest, self.size = file, hashlib.sha256(), 0

    def write(self, piece: bytes) -> int:
        """Write a block and return its size."""
        self.digest.update(piece)
        self.size += len(piece)
        return self._file.write(piece)


class LineWriter:
    """A context manager that writes lines to a new file. `section` describes the closed file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("xb")
        self._hashing, self._digest = HashingWriter(self._file), LineDigest()
        self._packed = zstandard.ZstdCompressor(level=LEVEL).stream_writer(cast(BinaryIO, self._hashing), closefd=False)

    def write(self, line: bytes) -> None:
        """Write a line. It must not contain a line feed."""
        self._digest.add(line)
        self._packed.write(line + b"\n")

    def __enter__(self) -> "LineWriter":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._packed.flush(zstandard.FLUSH_FRAME)
        self._file.close()

    @property
    def section(self) -> Section:
        """Return the description of the closed file."""
        return Section(self._digest.lines, self._digest.sha256, self._hashing.digest.hexdigest())


def write_all(path: Path, lines: Iterable[bytes]) -> Section:
    """Write all lines to a new file and return its description."""
    with LineWriter(path) as writer:
        for line in lines:
            writer.write(line)
    return writer.section


def read_all(path: Path, section: Section) -> Iterator[bytes]:
    """Yield the lines of a file.

    Raises:
        BackupError: the hash of the file or of its lines differs from the section. That of the file is checked first.
    """
    digest = LineDigest()
    with _opened(path) as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != section.file_sha256:
            raise BackupError(f"{path.name} of the backup is damaged: its hash is wrong.")
        file.seek(0)
        with zstandard.ZstdDecompressor().stream_reader(file, closefd=False) as reader:
            for line in io.BufferedReader(reader, 1 << 18):
                digest.add(whole := line.removesuffix(b"\n"))
                yield whole
    if not digest.matches(section):
        raise BackupError(f"{path.name} of the backup has other lines than its manifest describes.")


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise BackupError(f"Cannot read {path.name} of the backup: {error.strerror}.") from error
    with file:
        yield file
