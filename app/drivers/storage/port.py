"""What an object store does for us, whatever it is; knows keys and bytes, no images and no tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol

from app.drivers.errors import DriverError, Rejected

CHUNK_BYTES = 256 * 1024
KEY_LENGTH = 255

# A segment starts with neither a dot nor a dash: no `..`, no hidden file, nothing a command line takes for an option.
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


class ObjectMissing(DriverError):
    """The store has nothing under that key."""


@dataclass(frozen=True)
class StoredObject:
    """An object as the store tells of it; `stored_at` is by the store's own clock."""

    key: str
    size: int
    stored_at: datetime


class ObjectStore(Protocol):
    """Keeps bytes under keys. Safe to share between greenlets and threads.

    Every method may raise Absent (out of reach, full, refusing our credentials for now) or Broken (it answered with an
    error of its own); a key that is none is Rejected before anything is asked.
    """

    def put(self, key: str, source: BinaryIO, *, mimetype: str) -> None:
        """Store what `source` holds from where it stands to its end: under the key there is all of it, or nothing new.

        Reads in pieces; never holds more than a few MiB.
        """

    def get(self, key: str, *, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The object's bytes from `start` on, at most `length` of them, in pieces.

        The object is found before this returns; close the iterator when not reading to the end.

        Raises:
            ObjectMissing: nothing is stored there.
        """

    def head(self, key: str) -> StoredObject | None:
        """What is stored under the key; None for nothing."""

    def delete(self, key: str) -> None:
        """Make sure that nothing is stored under the key; nothing being there is no error."""

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[StoredObject]:
        """Every object whose key starts with `prefix` and sorts behind `after`, in the order of the keys' bytes."""

    def public_url(self, key: str) -> str | None:
        """Where anybody may fetch the object without asking this service; None where there is no such place."""


def checked(key: str) -> str:
    """The key, when it is one. Raises Rejected for anything that could mean another place."""
    if len(key) > KEY_LENGTH or not _KEY.fullmatch(key):
        raise Rejected("This is not a storage key", code="INVALID_KEY")
    return key
