"""Cache of immutable objects: in the object store for all nodes, in a folder for this node.

The caller passes a function that validates the bytes.
"""

import io
from collections.abc import Callable, Iterator

import structlog

from app.concurrency.threadpool import time_limit
from app.core.retry import CircuitBreaker
from app.drivers.errors import DriverError, UpstreamTimeout, UpstreamUnavailable
from app.drivers.storage.file_cache import FileCache
from app.drivers.storage.port import ObjectMissing, ObjectStore, StoredObject

log = structlog.get_logger(__name__)

FETCH_TIMEOUT_S, RETRY_AFTER_S = 3.0, 10.0
Check = Callable[[bytes], bool]


class CachedObjectStore:
    """A cache that reads from the folder first. After a failure, the store is not called for `retry_after_s`."""

    def __init__(self, store: ObjectStore, cache: FileCache, *, retry_after_s: float = RETRY_AFTER_S) -> None:
        self._store, self._cache, self._breaker = store, cache, CircuitBreaker(retry_after_s)

    def get_cached(self, key: str, is_valid: Check) -> bytes | None:
        """Return the valid bytes in the cache of this node, or None. Invalid bytes are removed."""
        data = self._cache.get(key)
        if data is None or is_valid(data):
            return data
        log.warning("trees.object_damaged", key=key, storage="cache")
        self._cache.remove(key)
        return None

    def get(self, key: str, is_valid: Check) -> bytes:
        """Return the bytes from the cache or from the store.

        Raises:
            ObjectMissing: the object does not exist or is damaged.
            DriverError: the cache has no entry, and the store is not available.
        """
        data = self.get_cached(key, is_valid)
        if data is not None:
            return data
        data = self._fetch(key)
        if not is_valid(data):
            log.warning("trees.object_damaged", key=key, storage="store")
            raise ObjectMissing("The stored object is damaged")
        self._cache.put(key, data)
        return data

    def store_locally(self, key: str, data: bytes) -> None:
        """Store the bytes on this node only."""
        self._cache.put(key, data)

    def put(self, key: str, data: bytes, *, mimetype: str) -> None:
        """Store the bytes for all nodes. If this raises DriverError, the cache of this node has them."""
        self._cache.put(key, data)
        self._store.put(key, io.BytesIO(data), mimetype=mimetype)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the objects of the store below a prefix."""
        return self._store.list(prefix)

    def delete(self, key: str) -> None:
        """Delete the object from the store and from this node."""
        self._store.delete(key)
        self._cache.remove(key)

    def _fetch(self, key: str) -> bytes:
        if self._breaker.is_open:
            raise UpstreamUnavailable("The object store does not respond", retry_after_s=round(self._breaker.open_s))
        try:
            with time_limit(FETCH_TIMEOUT_S, UpstreamTimeout("The object store did not respond in time")):
                return b"".join(self._store.get(key))
        except ObjectMissing:
            raise
        except DriverError:
            self._breaker.trip()
            raise
