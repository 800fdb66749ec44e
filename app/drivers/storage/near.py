"""Objects that never change under their key, kept near: in the object store for every node, in a folder for this one.

Knows no bytes: whether what was found is sound, the asker says.
"""

import io
from collections.abc import Callable, Iterator

import structlog

from app.core.breaker import CircuitBreaker
from app.core.file_cache import FileCache
from app.core.threadpool import time_limit
from app.drivers.errors import Absent, DriverError, Late
from app.drivers.storage.port import ObjectMissing, ObjectStore, StoredObject

log = structlog.get_logger(__name__)

FETCH_S, REST_S = 3.0, 10.0
Check = Callable[[bytes], bool]


class NearStore:
    """Reads from the folder first. A store that fails is left alone for `rest_s`, so that it costs one wait, not one each."""

    def __init__(self, store: ObjectStore, cache: FileCache, *, rest_s: float = REST_S) -> None:
        self._store, self._cache, self._breaker = store, cache, CircuitBreaker(rest_s)

    def near(self, key: str, is_sound: Check) -> bytes | None:
        """What this node has under the key; what is damaged is thrown away."""
        data = self._cache.get(key)
        if data is None or is_sound(data):
            return data
        log.warning("trees.damaged", key=key, place="cache")
        self._cache.forget(key)
        return None

    def get(self, key: str, is_sound: Check) -> bytes:
        """What is stored under the key, from wherever it is.

        Raises:
            ObjectMissing: nothing is, or only something damaged.
            DriverError: this node does not have it, and the store cannot be asked.
        """
        data = self.near(key, is_sound)
        if data is not None:
            return data
        data = self._fetch(key)
        if not is_sound(data):
            log.warning("trees.damaged", key=key, place="store")
            raise ObjectMissing("What is stored there is damaged")
        self._cache.put(key, data)
        return data

    def keep(self, key: str, data: bytes) -> None:
        """Keep it on this node only."""
        self._cache.put(key, data)

    def put(self, key: str, data: bytes, *, mimetype: str) -> None:
        """Store it for every node. Raises DriverError, and then this node has it all the same."""
        self._cache.put(key, data)
        self._store.put(key, io.BytesIO(data), mimetype=mimetype)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """What the store has below a prefix."""
        return self._store.list(prefix)

    def delete(self, key: str) -> None:
        """Delete it from the store and from this node."""
        self._store.delete(key)
        self._cache.forget(key)

    def _fetch(self, key: str) -> bytes:
        if self._breaker.is_open:
            raise Absent("The object store did not answer a moment ago", retry_after_s=round(self._breaker.rest_s))
        try:
            with time_limit(FETCH_S, Late("The object store did not answer in time")):
                return b"".join(self._store.get(key))
        except ObjectMissing:
            raise
        except DriverError:
            self._breaker.trip()
            raise
