"""Port of object stores: keys, bytes and errors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Protocol

from app.drivers.errors import DriverError, UpstreamRejected

CHUNK_BYTES = 256 * 1024
KEY_LENGTH = 255

# A segment starts with neither a dot nor a dash: no `..`, no hidden file, no option of a command line.
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


class ObjectMissing(DriverError):
    """A key without an object."""


@dataclass(frozen=True)
class StoredObject:
    """The description of an object; `stored_at` is the time of the store."""

    key: str
    size: int
    stored_at: datetime


class ObjectStore(Protocol):
    """A store of bytes under keys. Safe to share between greenlets and threads.

    Every method may raise UpstreamUnavailable (not reachable, full, credentials rejected) or UpstreamError (an error of
    the store). A malformed key raises UpstreamRejected before any request.
    """

    def put(self, key: str, source: IO[bytes], *, mimetype: str) -> None:
        """Store the bytes of `source` from its position to its end, completely or not at all.

        Reads in pieces of a few MiB.
        """

    def get(self, key: str, *, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Return the bytes of the object from `start`, at most `length`, in pieces.

        The object is opened before this returns. Close the iterator if it is not read to its end.

        Raises:
            ObjectMissing: there is no object with this key.
        """

    def head(self, key: str) -> StoredObject | None:
        """Return the description of the object, or None."""

    def delete(self, key: str) -> None:
        """Delete the object. A missing object is not an error."""

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose key starts with `prefix` and sorts after `after`, in byte order."""

    def public_url(self, key: str) -> str | None:
        """Return the public URL of the object; None if the store has no public URLs."""


def checked(key: str) -> str:
    """Return the key if its format is valid. Raises UpstreamRejected, for example for a path outside of the store."""
    if len(key) > KEY_LENGTH or not _KEY.fullmatch(key):
        raise UpstreamRejected("The storage key has an invalid format", code="INVALID_KEY")
    return key
