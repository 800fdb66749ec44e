"""Files of an uploaded archive (zip, tar, tar.gz), with limits that hold for hostile archives.

An archive is read completely before any file is written. Names never reach the file system unchecked.
"""

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, NoReturn

from app.core.errors import ErrorMessage
from app.core.paths import folded, path_error

MAX_FILES = 10_000
MAX_BYTES = 50 * 1024 * 1024
"""Size of all files together after decompression, with the headers of a tar archive."""

_PIECE = 1 << 16
_CENTRAL_HEADER = b"PK\x01\x02"
_ZIP, _GZIP, _TAR_AT, _TAR = b"PK\x03\x04", b"\x1f\x8b", 257, b"ustar"
_ENCRYPTED, _TYPE_BITS = 0x1, 0xF000
_FILE_TYPES = (0, 0x8000)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError, OSError, ValueError, LookupError),
    *(OverflowError, RuntimeError),
)
"""Exceptions of the two modules for damaged archives. A chain of tar headers leads to a RecursionError."""

_METADATA = ("__MACOSX/", ".DS_Store")
"""Files that macOS adds to archives."""


class ArchiveRefused(ValueError):
    """An archive that is not accepted. The message names the reason and the entry."""


@dataclass(frozen=True)
class ArchiveLimits:
    """The bounds of an archive."""

    files: int = MAX_FILES
    size_bytes: int = MAX_BYTES


def read_archive(data: bytes, limits: ArchiveLimits | None = None) -> dict[str, bytes]:
    """Return the files of an archive by path. A single folder that contains all files is removed from the paths.

    Raises:
        ArchiveRefused: the archive has another format or damage, an entry that is not a plain file, an invalid or
            ambiguous path, or too many files or bytes.
    """
    limits = limits or ArchiveLimits()
    files: dict[str, bytes] = {}
    names: set[str] = set()
    try:
        for name, content in _entries(data, limits):
            _check_name(name, names)
            files[name] = content
            if len(files) > limits.files:
                _refuse(f"The archive contains more than {limits.files:,} files")
    except ArchiveRefused:
        raise
    except DAMAGE as error:
        raise ArchiveRefused(ErrorMessage("The archive is damaged")) from error
    _check_folders(files)
    if not files:
        _refuse("The archive contains no file")
    return _without_single_folder(files)


def _entries(data: bytes, limits: ArchiveLimits) -> Iterator[tuple[str, bytes]]:
    if data.startswith(_ZIP):
        return _zip_entries(data, limits)
    if data.startswith(_GZIP):
        return _tar_entries(_LimitedReader(gzip.GzipFile(fileobj=io.BytesIO(data)), limits.size_bytes))
    if data[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return _tar_entries(_LimitedReader(io.BytesIO(data), limits.size_bytes))
    raise ArchiveRefused(ErrorMessage("The file is not a zip or tar.gz archive"))


def _zip_entries(data: bytes, limits: ArchiveLimits) -> Iterator[tuple[str, bytes]]:
    # The module reads the whole directory of the archive first, so its length is checked before.
    if data.count(_CENTRAL_HEADER) > 2 * limits.files:
        _refuse(f"The archive contains more than {limits.files:,} files")
    remaining = limits.size_bytes
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            name = entry.orig_filename
            kind = (entry.external_attr >> 16) & _TYPE_BITS
            if entry.flag_bits & _ENCRYPTED:
                _refuse(f"{name!a}: the entry is encrypted")
            if entry.is_dir() or _is_metadata(name):
                continue
            if kind not in _FILE_TYPES:
                _refuse(ErrorMessage("%(name)s: links and devices are not accepted", name=ascii(name)))
            if entry.compress_type not in _METHODS:
                _refuse(f"{name!a}: the compression method is not supported")
            with archive.open(entry) as file:
                content = _read(file, remaining)
            remaining -= len(content)
            yield name, content


def _tar_entries(reader: "_LimitedReader") -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=reader, mode="r|", errors="strict") as archive:  # type: ignore[call-overload]
        for entry in archive:
            if entry.isdir() or _is_metadata(entry.name):
                continue
            file = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
            if file is None:
                _refuse(ErrorMessage("%(name)s: links and devices are not accepted", name=ascii(entry.name)))
            yield entry.name.removeprefix("./"), file.read()


def _is_metadata(name: str) -> bool:
    return name.startswith(_METADATA[0]) or name.rpartition("/")[2] == _METADATA[1]


class _LimitedReader:
    """A reader that refuses more than `limit` bytes, which also bounds the headers of a tar archive."""

    def __init__(self, source: IO[bytes] | gzip.GzipFile, limit: int) -> None:
        self._source, self._remaining = source, limit

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`."""
        data = self._source.read(_PIECE if size < 0 else min(size, self._remaining + 1))
        self._remaining -= len(data)
        if self._remaining < 0:
            _refuse(ErrorMessage("The archive is too large after decompression"))
        return data


def _read(file: IO[bytes], limit: int) -> bytes:
    """Read an entry. The size in its header is not trusted."""
    content = file.read(limit + 1)
    if len(content) > limit:
        _refuse(ErrorMessage("The archive is too large after decompression"))
    return content


def _check_name(name: str, names: set[str]) -> None:
    """Refuse an invalid path, and one that is equal to another on a file system that ignores case."""
    if "\0" in name:
        _refuse(f"{name!a}: the path is not valid")
    if fault := path_error(name):
        _refuse(f"{name!a}: {fault[0].lower()}{fault[1:]}")
    form = folded(name)
    if form in names:
        _refuse(ErrorMessage("%(name)s: the archive contains two entries of this name", name=ascii(name)))
    names.add(form)


def _check_folders(files: Mapping[str, bytes]) -> None:
    """Refuse a file whose path is a folder of another one, and two folders that differ only in case."""
    folders: dict[str, str] = {}
    for path in files:
        segments = path.split("/")[:-1]
        for number in range(1, len(segments) + 1):
            folder = "/".join(segments[:number])
            if folders.setdefault(folded(folder), folder) != folder:
                _refuse(ErrorMessage("%(name)s: the archive contains two entries of this name", name=ascii(path)))
    for path in files:
        if folded(path) in folders:
            _refuse(ErrorMessage("%(name)s: the archive contains two entries of this name", name=ascii(path)))


def _without_single_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or any("/" not in path for path in files):
        return files
    return {path.partition("/")[2]: content for path, content in files.items()}


def _refuse(reason: str) -> NoReturn:
    raise ArchiveRefused(reason)
