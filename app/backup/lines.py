"""Files of JSON lines, compressed and hashed while they are written and read; never more than a piece in memory."""

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


class Digest:
    """Counts lines and adds up their hashes, so that the order they come in does not matter."""

    def __init__(self) -> None:
        self.lines, self._sum = 0, 0

    def add(self, line: bytes) -> None:
        """Take a line, without its end."""
        self.lines += 1
        self._sum = (self._sum + int.from_bytes(hashlib.sha256(line).digest(), "big")) % MODULUS

    @property
    def sha256(self) -> str:
        """The sum in hex."""
        return f"{self._sum:064x}"

    def matches(self, section: Section) -> bool:
        """Whether these are the lines a manifest tells of."""
        return (self.lines, self.sha256) == (section.lines, section.lines_sha256)


class Hashing:
    """Passes what is written to a file through, hashes it and counts its bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest, self.size = file, hashlib.sha256(), 0

    def write(self, piece: bytes) -> int:
        """Write them all."""
        self.digest.update(piece)
        self.size += len(piece)
        return self._file.write(piece)


class LineWriter:
    """Writes lines into one new file for the length of a `with`; `section` tells of it afterwards."""

    def __init__(self, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        self._file = place.open("xb")
        self._hashing, self._digest = Hashing(self._file), Digest()
        self._packed = zstandard.ZstdCompressor(level=LEVEL).stream_writer(cast(BinaryIO, self._hashing), closefd=False)

    def write(self, line: bytes) -> None:
        """Add a line; it holds no line feed, as JSON never does."""
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
        """What the closed file holds."""
        return Section(self._digest.lines, self._digest.sha256, self._hashing.digest.hexdigest())


def write_all(place: Path, lines: Iterable[bytes]) -> Section:
    """Write a whole file of lines."""
    with LineWriter(place) as writer:
        for line in lines:
            writer.write(line)
    return writer.section


def read_all(place: Path, section: Section) -> Iterator[bytes]:
    """Read it back, line by line.

    Raises:
        BackupError: before the first line, when the file is not the one the manifest tells of.
    """
    digest = Digest()
    with _opened(place) as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != section.file_sha256:
            raise BackupError(f"{place.name} of the backup is damaged: its hash is another.")
        file.seek(0)
        with zstandard.ZstdDecompressor().stream_reader(file, closefd=False) as reader:
            for line in io.BufferedReader(reader, 1 << 18):
                digest.add(whole := line.removesuffix(b"\n"))
                yield whole
    if not digest.matches(section):
        raise BackupError(f"{place.name} of the backup holds other lines than its manifest tells.")


@contextmanager
def _opened(place: Path) -> Iterator[io.BufferedReader]:
    try:
        file = place.open("rb")
    except OSError as error:
        raise BackupError(f"{place.name} of the backup is not to be had: {error.strerror}.") from error
    with file:
        yield file
